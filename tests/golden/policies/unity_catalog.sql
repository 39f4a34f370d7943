-- Rendered by the documentation of unity_catalog, and never run there.

create or replace function lake.current_reader()
returns bigint
return (
    select max(users.user_id)
    from security.accounts as accounts
    left join lake.stg_users as users
        on accounts.user_id = users.user_id and users.is_live
    where accounts.account = current_user()
    having min(accounts.user_id) = max(accounts.user_id)
);

create or replace function lake.filter_runs(this_row_cost STRING, this_row_day DATE, this_row_team_id BIGINT)
returns boolean
return
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
        this_row_day >= CAST('2026-01-31' AS DATE)
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

alter table lake.all_runs set row filter lake.filter_runs on (cost, day, team_id);

create or replace function lake.mask_runs_unit(this_row_unit STRING, this_row_run_id BIGINT)
returns STRING
return
CASE
  WHEN lake.current_reader() IS NULL
  THEN TRY_CAST(concat('unit ', this_row_run_id) AS STRING)
  ELSE CASE
    WHEN EXISTS(
      SELECT
        1
      FROM lake.vw_secure_user_roles AS _held
      WHERE
        _held.user_id = lake.current_reader() AND _held.role_name = 'B'
    )
    THEN TRY_CAST(concat('unit ', this_row_run_id) AS STRING)
    ELSE CASE
      WHEN EXISTS(
        SELECT
          1
        FROM lake.vw_secure_user_roles AS _held
        WHERE
          _held.user_id = lake.current_reader() AND _held.role_name = 'C'
      )
      THEN TRY_CAST('none' AS STRING)
      ELSE this_row_unit
    END
  END
END;

alter table lake.all_runs alter column unit set mask lake.mask_runs_unit using columns (run_id);

create or replace function lake.mask_runs_amount(this_row_amount DECIMAL(9, 4))
returns DECIMAL(9, 4)
return
CASE
  WHEN lake.current_reader() IS NULL
  THEN TRY_CAST(0 AS DECIMAL(9, 4))
  ELSE CASE
    WHEN NOT EXISTS(
      SELECT
        1
      FROM lake.vw_secure_user_roles AS _held
      WHERE
        _held.user_id = lake.current_reader() AND _held.role_name = 'C'
    )
    AND NOT (
      NOT (
        this_row_amount > 3
      )
    ) IS TRUE
    THEN TRY_CAST(0 AS DECIMAL(9, 4))
    ELSE this_row_amount
  END
END;

alter table lake.all_runs alter column amount set mask lake.mask_runs_amount;

-- The table also has secret, which the dataset does not show and this does not hide.
