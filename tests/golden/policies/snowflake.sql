-- Rendered by the documentation of snowflake, and never run there.

create or replace secure function lake.current_reader()
returns bigint
as
$$
(
    select max(users.user_id)
    from security.accounts as accounts
    left join lake.stg_users as users
        on accounts.user_id = users.user_id and users.is_live
    where accounts.account = current_user()
    having min(accounts.user_id) = max(accounts.user_id)
)
$$;

create row access policy lake.filter_runs
as (this_row_cost VARCHAR, this_row_day DATE, this_row_team_id BIGINT)
returns boolean ->
NOT lake.current_reader() IS NULL
AND (
  EXISTS(
    SELECT
      1
    FROM lake.team_access AS _held
    WHERE
      _held.user_id = lake.current_reader() AND _held.team_id = this_row_team_id
  )
  AND (
    (
      EXISTS(
        SELECT
          1
        FROM lake.vw_secure_user_roles AS _held
        WHERE
          _held.user_id = lake.current_reader() AND _held.role_name = 'it\'s A'
      )
      AND (
        this_row_day >= CAST(date_from_parts(2026, 1, 31) AS DATE)
      )
    )
  )
)
AND (
  (
    NOT (
      NOT EXISTS(
        SELECT
          1
        FROM lake.vw_secure_user_roles AS _held
        WHERE
          _held.user_id = lake.current_reader() AND _held.role_name = 'C'
      )
    )
    OR (
      this_row_cost IS NOT DISTINCT FROM 'x'
    )
  )
);

alter table lake.all_runs add row access policy lake.filter_runs on ("COST", "DAY", "TEAM_ID");

create masking policy lake.mask_runs_unit
as (this_row_unit VARCHAR, this_row_run_id BIGINT)
returns VARCHAR ->
CASE
  WHEN lake.current_reader() IS NULL
  THEN CAST((
    'unit ' || CAST(this_row_run_id AS VARCHAR)
  ) AS VARCHAR)
  ELSE CASE
    WHEN EXISTS(
      SELECT
        1
      FROM lake.vw_secure_user_roles AS _held
      WHERE
        _held.user_id = lake.current_reader() AND _held.role_name = 'B'
    )
    THEN CAST((
      'unit ' || CAST(this_row_run_id AS VARCHAR)
    ) AS VARCHAR)
    ELSE CASE
      WHEN EXISTS(
        SELECT
          1
        FROM lake.vw_secure_user_roles AS _held
        WHERE
          _held.user_id = lake.current_reader() AND _held.role_name = 'C'
      )
      THEN CAST('none' AS VARCHAR)
      ELSE this_row_unit
    END
  END
END;

alter table lake.all_runs modify column "UNIT" set masking policy lake.mask_runs_unit using ("UNIT", "RUN_ID");

create masking policy lake.mask_runs_amount
as (this_row_amount DECIMAL(9, 4))
returns DECIMAL(9, 4) ->
CASE
  WHEN lake.current_reader() IS NULL
  THEN CAST(0 AS DECIMAL(9, 4))
  ELSE CASE
    WHEN NOT EXISTS(
      SELECT
        1
      FROM lake.vw_secure_user_roles AS _held
      WHERE
        _held.user_id = lake.current_reader() AND _held.role_name = 'C'
    )
    AND NOT coalesce((
      NOT (
        this_row_amount > 3
      )
    ), FALSE)
    THEN CAST(0 AS DECIMAL(9, 4))
    ELSE this_row_amount
  END
END;

alter table lake.all_runs modify column "AMOUNT" set masking policy lake.mask_runs_amount;

-- The table also has secret, which the dataset does not show and this does not hide.
