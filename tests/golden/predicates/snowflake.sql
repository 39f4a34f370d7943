EXISTS(
  SELECT
    1
  FROM team_access AS held
  WHERE
    held.user_id = reader() AND held.team_id = f.team_id
)
AND (
  (
    EXISTS(
      SELECT
        1
      FROM vw_secure_user_roles AS held
      WHERE
        held.user_id = reader() AND held.role_name = 'it\'s A'
    )
    AND (
      (
        "UNIT" LIKE 'x%' OR "UNIT" IS NOT DISTINCT FROM 'a\\b'
      )
      AND "DAY" >= CAST(date_from_parts(2026, 1, 31) AS DATE)
      AND "AMOUNT" BETWEEN 1 AND 5
    )
  )
)

CASE
  WHEN EXISTS(
    SELECT
      1
    FROM vw_secure_user_roles AS held
    WHERE
      held.user_id = reader() AND held.role_name = 'B'
  )
  THEN CAST((
    'unit ' || CAST("TEAM_ID" AS VARCHAR)
  ) AS VARCHAR)
  ELSE f.unit
END

CASE
  WHEN EXISTS(
    SELECT
      1
    FROM vw_secure_user_roles AS held
    WHERE
      held.user_id = reader() AND held.role_name = 'B'
  )
  AND NOT coalesce((
    NOT (
      "AMOUNT" > 3
    )
  ), FALSE)
  THEN CAST(0 AS BIGINT)
  ELSE f.amount
END
