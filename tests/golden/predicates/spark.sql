EXISTS(
  SELECT
    1
  FROM team_access AS _held
  WHERE
    _held.user_id = reader() AND _held.team_id = f.team_id
)
AND (
  (
    EXISTS(
      SELECT
        1
      FROM vw_secure_user_roles AS _held
      WHERE
        _held.user_id = reader() AND _held.role_name = 'it\'s A'
    )
    AND (
      (
        unit LIKE 'x%' OR unit IS NOT DISTINCT FROM 'a\\b'
      )
      AND day >= CAST('2026-01-31' AS DATE)
      AND amount BETWEEN 1 AND 5
    )
  )
)

CASE
  WHEN EXISTS(
    SELECT
      1
    FROM vw_secure_user_roles AS _held
    WHERE
      _held.user_id = reader() AND _held.role_name = 'B'
  )
  THEN TRY_CAST(concat('unit ', team_id) AS STRING)
  ELSE f.unit
END

CASE
  WHEN EXISTS(
    SELECT
      1
    FROM vw_secure_user_roles AS _held
    WHERE
      _held.user_id = reader() AND _held.role_name = 'B'
  )
  AND current_timestamp() >= CAST('2026-05-01 00:00:00Z' AS TIMESTAMP)
  AND current_timestamp() < CAST('2026-05-31 18:00:00.500000Z' AS TIMESTAMP)
  AND NOT (
    NOT (
      amount > 3
    )
  ) IS TRUE
  THEN TRY_CAST(0 AS BIGINT)
  ELSE f.amount
END
