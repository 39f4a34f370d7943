create or replace function lake.current_reader()
returns bigint
language sql stable security definer set search_path = pg_catalog, pg_temp
set timezone = 'UTC' set datestyle = 'ISO, YMD'
return (
    select max(users.user_id)
    from security.accounts as accounts
    left join lake.stg_users as users
        on accounts.user_id = users.user_id and users.is_live
    where accounts.account = cast(session_user as text)
    having min(accounts.user_id) = max(accounts.user_id)
);

alter table lake.all_runs enable row level security;

drop policy if exists filter_runs on lake.all_runs;

drop policy if exists restrict_runs on lake.all_runs;

create or replace function lake.restrict_runs(this_row_cost TEXT)
returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
set timezone = 'UTC' set datestyle = 'ISO, YMD'
return
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
);

create policy restrict_runs on lake.all_runs as restrictive
for select using (lake.restrict_runs("cost"));

create or replace function lake.filter_runs(this_row_day DATE, this_row_team_id BIGINT)
returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
set timezone = 'UTC' set datestyle = 'ISO, YMD'
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
          _held.user_id = lake.current_reader() AND _held.role_name = 'it''s A'
      )
      AND (
        this_row_day >= CAST('2026-01-31' AS DATE)
      )
    )
  )
);

create policy filter_runs on lake.all_runs
for select using (lake.filter_runs("day", "team_id"));

-- PostgreSQL has no masks. Let nobody read unit, amount: grant the other columns alone.
-- grant select ("run_id", "team_id", "day", "cost") on lake.all_runs to <role>;

-- The table also has secret, which the dataset does not show and this does not hide.
