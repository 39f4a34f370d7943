"""Models that leak, each in a way of its own, and models that leak nothing."""

# Over the relations of `leak_cases.py`, a query a paragraph: all must be findings.
ATTACKS = """\
select user_id, job_id from s.jobs j where (j.user_id, j.job_id) not in (select
r.user_id, r.job_id from s.runs r)

select user_id, job_id from s.jobs j where (j.user_id, j.job_id) not in (select
r.user_id, r.job_id from s.runs r) and j.job_id is not null

select user_id, job_id from s.jobs j where (j.actor_user_id, j.job_id) not in (select
r.user_id, r.job_id from s.runs r) and j.user_id is not null

select user_id, job_id from s.jobs j where (j.user_id, j.job_id) not in (select
r.job_id, r.user_id from s.runs r) and j.user_id is not null and j.job_id is not null

select j.user_id, (select sum(x.n) from (select r.job_id, count(*) n from s.runs r where
r.team_id = j.team_id group by r.job_id) x) t from s.jobs j

select j.user_id, (select sum(x.n) from (select r.job_id, count(*) n from s.runs r where
r.user_id = r.user_id group by r.job_id) x) t from s.jobs j

select j.user_id, (select sum(x.n) from (select r.job_id n from s.runs r where r.user_id
= j.user_id) x join s.jobs k on k.job_id = x.n) t from s.jobs j

select j.user_id, (select sum(x.n) from (select j.user_id u, r.job_id n from s.runs r) x
where x.u = j.user_id) t from s.jobs j

select j.user_id, (select max(x.job_id) from (select r.job_id from s.runs r where
r.user_id = j.user_id union all select k.job_id from s.jobs k) x) t from s.jobs j

select p.user_id, (select sum(x.n) from (select count(*) n from s.runs r where r.user_id
= p.team_id) x) t from s.people p

select p.user_id, (select sum(x.n) from (select count(*) n from s.runs r where r.user_id
= p.team_id) x) t, (select sum(x.n) from (select count(*) n from s.runs r where
r.user_id = p.user_id) x) t2 from s.people p

select x.user_id, x.job_id from s.jobs j join (select r.user_id, r.job_id from s.runs r
where r.user_id = j.user_id) x on true

select p.user_id, l.n from s.people p, lateral (select x.n from (select max(r.job_id) n
from s.runs r where r.user_id = p.team_id) x) l

select j.user_id, l.n from s.jobs j, lateral (select x.n from (select max(r.job_id) n
from s.runs r where r.user_id = j.team_id) x) l

select j.user_id, (select sum(x.n) from (select r.job_id n from s.runs r, s.people j
where r.user_id = j.user_id) x) t from s.jobs j

select j.user_id, (select max(x.n) from (select r.job_id n from s.runs r left join
s.people p on r.user_id = j.user_id) x) t from s.jobs j

select j.user_id, (select max(x.n) from s.people p join (select r.job_id n, r.user_id
from s.runs r where r.user_id = p.user_id) x on true) t from s.jobs j

select coalesce(a.user_id, b.user_id, c.user_id) as user_id, a.job_id from s.jobs a full
join s.runs b on a.user_id = b.user_id full join s.jobs c on coalesce(a.user_id,
b.user_id) = c.team_id

select coalesce(a.user_id, b.user_id, c.team_id) as user_id, a.job_id from s.jobs a full
join s.runs b on a.user_id = b.user_id full join s.people c on coalesce(a.user_id,
b.user_id) = c.user_id

select coalesce(a.user_id, b.user_id) as user_id, c.job_id from s.jobs a full join
s.runs b on a.user_id = b.user_id full join s.jobs c on coalesce(a.user_id, b.user_id) =
c.user_id

select coalesce(a.user_id, c.user_id) as user_id, b.job_id from s.jobs a full join
s.runs b on a.user_id = b.user_id full join s.jobs c on coalesce(a.user_id, b.user_id) =
c.user_id

select coalesce(a.user_id, b.user_id, c.user_id) as user_id, c.job_id, b.team_id from
s.jobs a full join s.runs b on a.team_id = b.team_id full join s.jobs c on
coalesce(a.user_id, b.user_id) = c.user_id

select coalesce(a.user_id, b.user_id, c.user_id) as user_id, b.job_id j, c.job_id from
s.jobs a left join s.runs b on a.user_id = b.user_id full join s.jobs c on b.user_id =
c.user_id and a.team_id = c.actor_user_id full join s.runs d on d.team_id = b.team_id

select coalesce(a.actor_user_id, b.user_id, c.user_id) as user_id, b.job_id from s.jobs
a full join s.runs b on a.user_id = b.user_id full join s.jobs c on coalesce(a.user_id,
b.user_id) = c.user_id

select user_id, (select max(j2.job_id) from s.jobs j2 where j2.user_id = user_id) m
from s.jobs

select j.user_id, (select count(*) from s.runs r where r.user_id = r.user_id) n from
s.jobs j

select user_id, max(job_id) over w n from s.jobs window W as (partition by user_id), w
as (order by job_id)

select user_id, job_id from s.jobs union select actor_user_id, job_id from s.runs

select job_id, user_id from s.jobs except select user_id, job_id from s.runs

select * from s.jobs intersect all select team_id, job_id, user_id, actor_user_id from
s.runs

select coalesce(a.user_id, b.user_id) user_id, b.job_id from s.jobs a left join s.runs
b on a.job_id = b.job_id

select nvl(user_id, 8) as user_id, job_id from s.jobs

select greatest(user_id, 8) as user_id from s.jobs

select if(job_id = 1, user_id, 8) as user_id from s.jobs

select case when true then user_id end as user_id from s.jobs

select user_id + 0 as user_id from s.jobs

select s.people.user_id, s.jobs.job_id from s.jobs join s.people on s.people.team_id =
s.jobs.team_id

select s.runs.user_id, s.jobs.job_id from s.jobs left join s.runs on s.runs.team_id =
s.jobs.team_id

select s.jobs.user_id from s.jobs where exists (select 1 from s.runs where
s.runs.user_id = s.runs.user_id)

select l.user_id, l.job_id from s.people, lateral (select s.people.user_id as user_id,
s.jobs.job_id from s.jobs join (select 1 as one) as b on s.jobs.user_id =
s.people.user_id join s.people on true) as l

select a.* from s.jobs a join s.people p using (user_id) union all select * from s.jobs

with c(j, t, a, user_id) as (select b.* from s.jobs a join s.runs b using (user_id))
select * from c

select j.user_id, l.job_id from s.jobs j join s.jobs r on j.user_id = r.user_id cross
join lateral (select r.job_id from s.people a join s.people b on r.user_id = j.user_id
join s.runs r on true) l

select j.user_id, l.job_id from (select user_id, user_id as u from s.jobs) j cross join
lateral (select r.job_id from s.people a join s.people b on u = j.user_id join (select
user_id as u, job_id from s.runs) r on true) l

select a.user_id, a.job_id from s.jobs a left join s.runs b using (user_id) where
user_id is not null and b.user_id not in (select r.user_id from s.runs r where r.job_id
= 5)

select b.user_id, b.job_id, a.x from (select struct(user_id) as r, job_id as x from
s.jobs) a cross join s.runs b cross join s.people r where r.user_id = b.user_id

with p(q, user_id, n) as (select * from (select struct(job_id as x) as r, user_id,
actor_user_id as x, team_id from s.jobs) pivot (max(r.x) for team_id in (1 as a)))
select * from p

select p.user_id, j.job_id from s.people p join range(1) r join s.jobs j on true on
true

select s.jobs.user_id from (select struct(struct(team_id as user_id) as jobs) s,
user_id from s.jobs) s

select abs(user_id) as user_id from s.jobs

select b.user_id, a.job_id from s.jobs a join s.jobs b on a.user_id <> b.user_id

select b.user_id, a.job_id from s.jobs a join s.jobs b on a.user_id >= b.user_id

select b.user_id, a.job_id from s.jobs a join s.jobs b on not (a.user_id = b.user_id)

select b.user_id, a.job_id from s.jobs a join s.jobs b on a.user_id = b.user_id or
true

select b.user_id, a.job_id from s.jobs a join s.jobs b on (a.user_id = b.user_id) is
not null

select b.user_id, a.job_id from s.jobs a join s.jobs b on (a.user_id = b.user_id) =
false

select b.user_id, a.job_id from s.jobs a join s.jobs b on case when a.user_id =
b.user_id then true else true end

select b.user_id, a.job_id from s.jobs a join s.jobs b on a.user_id = b.user_id where
false union all select 8, job_id from s.jobs

select user_id, first_value(job_id) over (partition by team_id order by user_id) f
from s.jobs

select user_id, lag(job_id) over (order by user_id, job_id) f from s.jobs

select user_id, dense_rank() over (partition by user_id % 2 order by job_id) f from
s.jobs

select user_id, ntile(3) over (partition by team_id, actor_user_id order by job_id) f
from s.jobs

select user_id, percent_rank() over (order by job_id) p from s.jobs

select user_id, sum(job_id) over (partition by (select 1)) p from s.jobs

select user_id, sum(job_id) over (partition by cast(user_id as int)) p from s.jobs

select distinct actor_user_id as user_id, job_id from s.jobs

select user_id, x.j from s.jobs lateral view explode(array((select max(job_id) from
s.runs))) x as j

select a.user_id, b.job_id from (select team_id as `u\u017fer_id`, user_id, job_id from
s.jobs) a join s.runs b using (user_id)

select user_id, n from (select team_id as `user_\u0131d`, user_id, job_id from s.jobs) a
natural join (select user_id, team_id as n from s.runs) b

with `größe` as (select * from s.jobs), `GRÖ\u017fSE` as (select team_id as user_id,
job_id from s.runs) select user_id, job_id from `größe` union all select * from `grÖsse`

select user_id, job_id from s.jobs where job_id = (select max(job_id) from s.jobs)

select user_id, job_id from s.jobs where job_id > all (select job_id from s.runs)

select user_id, job_id from s.jobs where team_id not in (select team_id from s.runs
where user_id is not null)

select j.user_id, j.job_id from s.jobs j where exists (select 1 from s.runs r where
r.user_id <=> j.user_id and exists (select 1 from s.runs q where q.team_id =
r.team_id))

select j.user_id from s.jobs j where exists (select 1 from s.runs r join s.jobs k on
r.user_id = j.user_id)

select j.user_id from s.jobs j where exists (select count(*) from s.runs r where
r.user_id = j.user_id having count(*) > (select count(*) from s.runs))

select p.user_id from s.people p where exists (select 1 from s.jobs j where j.team_id
= p.team_id)

select p.user_id, p.name from s.people p left anti join s.jobs j on p.team_id =
j.team_id

select p.user_id, (select count(*) from s.jobs j where j.user_id = p.team_id) n from
s.people p

select p.* from s.people p where p.team_id in (select team_id from s.jobs)

select user_id, count(*) from s.jobs group by user_id with rollup

select user_id, count(*) from s.jobs group by cube (user_id, team_id)

select user_id, grouping(user_id) g, count(*) n from s.jobs group by grouping sets
((user_id), ())

select user_id, count(*) n from s.jobs group by user_id, team_id grouping sets
((team_id), (user_id, team_id))

select max_by(user_id, job_id) as user_id from s.jobs group by team_id

select explode(collect_set(user_id)) as user_id from s.jobs

select u as user_id, n from (select collect_set(user_id) us, count(*) n from s.jobs)
lateral view explode(us) t as u

select user_id, job_id from s.jobs order by job_id limit 10

(select user_id, job_id from s.jobs) limit 10

select user_id, job_id from s.jobs order by job_id offset 2

select user_id, job_id from (select * from s.jobs limit 5)

(select user_id, job_id from s.jobs union all select user_id, job_id from s.runs)
order by 1 limit 4

with a as (select * from s.jobs), b as (select user_id, job_id from a limit 1) select
* from b

select user_id, job_id from s.jobs tablesample (bucket 1 out of 3) repeatable (4)

select user_id, 1 n from s.jobs tablesample (3 rows) as k

select t.user_id from (select struct(team_id as user_id) t from s.jobs)

select t.user_id as user_id from (select struct(actor_user_id as user_id, user_id as
k) t from s.jobs)

select m['u'] as user_id from (select map('u', user_id) m from s.jobs)

select inline(array(struct(user_id as job_id, team_id as user_id))) from s.jobs

select stack(2, user_id, team_id, team_id, user_id) as (user_id, x) from s.jobs

select user_id, job_id from (select job_id as user_id, user_id as job_id from s.jobs)

select j.* from s.jobs as j(user_id, team_id, actor_user_id, job_id)

with j(user_id, a, b, c) as (select * from s.jobs) select * from j

select * except (user_id), actor_user_id as user_id from s.jobs

select *, 8 as USER_ID from s.jobs

select `User_Id` as u, team_id as `uSer_ID` from s.jobs

select a.user_id, b.job_id from s.jobs a natural join (select team_id, job_id as k
from s.runs) b

select user_id, n from s.jobs natural join (select team_id, count(*) n from s.runs
group by team_id, user_id)

select * from s.people natural left join (select team_id, job_id from s.jobs)

select user_id, k from (select team_id as k, name, user_id from s.people) natural join
(select job_id as k from s.jobs)

with recursive r as (select user_id, job_id, 0 n from s.jobs union all select
q.user_id, r.job_id, n+1 from r join s.runs q on q.team_id = r.job_id where n < 2)
select * from r

with recursive r as (select 8 as user_id, 1 as job_id union all select user_id,
j.job_id from r join s.jobs j on true where r.job_id < 3) select * from r

with recursive r as (select user_id, job_id from s.jobs union all select job_id,
user_id from r where job_id < 9) select * from r

select * from (select user_id, team_id, job_id from s.jobs) pivot (count(*) for
user_id in (7, 8))

select u as user_id, a from (select user_id, team_id, job_id from s.jobs) pivot
(max(user_id) as u, sum(job_id) as n for team_id in (1 as x))

select x_u as user_id, x_n from (select user_id, team_id, job_id from s.jobs) pivot
(max(user_id) as u, sum(job_id) as n for team_id in (1 as x))

select v as user_id, n from s.jobs unpivot (v for n in (team_id, user_id))

select v as user_id from (select user_id, team_id, job_id from s.jobs) unpivot (v for
n in (team_id, job_id))

select user_id, v from (select * from s.jobs) unpivot ((v, user_id) for n in
((team_id, job_id), (job_id, actor_user_id)))

select user_id, x.n from s.jobs j cross join lateral (select count(*) n from s.runs r
where r.team_id = j.team_id) x

select x.user_id, j.job_id from s.jobs j cross join lateral (select r.user_id from
s.runs r where r.job_id = j.job_id) x

select r.user_id, r.job_id from s.jobs j right join s.runs r on j.user_id = r.user_id
right join s.jobs k on k.job_id = r.job_id

select a.user_id, c.job_id from s.jobs a full join s.runs b on a.user_id = b.user_id
full join s.jobs c on c.user_id = b.user_id

select user_id, c.job_id from s.jobs a full join s.runs b using (user_id) left join
s.runs c on c.team_id = a.team_id

select user_id from s.jobs a left join s.runs b using (team_id) group by user_id

select b.user_id, count(a.job_id) n from s.jobs a left join s.runs b on a.user_id =
b.user_id where a.job_id > b.job_id or b.job_id is null group by b.user_id

select b.user_id, a.job_id from s.jobs a left join s.runs b on a.user_id = b.user_id
where coalesce(b.job_id, 1) = 1

select b.user_id, a.job_id from s.jobs a left join s.runs b on a.user_id = b.user_id
where not (b.job_id = 3 and a.job_id = 1)

select b.user_id, a.job_id from s.jobs a left join (select user_id, 1 as one from
s.runs) b on a.user_id = b.user_id where (b.one is null) = true

select user_id, transform(array(1), x -> (select max(job_id) from s.runs)) t from
s.jobs

select user_id, exists(array(1), x -> x in (select job_id from s.runs)) t from s.jobs

select user_id, sum(distinct job_id) filter (where job_id in (select job_id from
s.runs)) t from s.jobs group by user_id

select user_id, count(*) c from s.jobs group by user_id order by (select max(job_id)
from s.runs)

select user_id, job_id from s.jobs qualify count(*) over (partition by team_id) > 1

select user_id, job_id from s.jobs qualify max(job_id) over w = job_id window w as
(partition by team_id)

values ((select max(job_id) from s.jobs))

select 1 as one from s.jobs

select count(*) c, 7 as user_id from s.jobs

select 7 as user_id where exists (select 1 from s.jobs)

select user_id from s.people where (select count(*) from s.jobs) > 3

select named_struct('user_id', job_id).user_id as user_id, user_id as k from s.jobs

select user_id, hash(collect_list(job_id) over ()) from s.jobs

from s.jobs select team_id as user_id, job_id

select user_id, monotonically_increasing_id() i from s.jobs

select user_id, uuid() u, row_number() over (order by 1) from s.jobs

select user_id, spark_partition_id() p from s.jobs

select user_id, input_file_name() f from s.jobs

select user_id, _metadata.file_path p, _metadata.row_index i from s.jobs

select user_id, job_id from s.jobs cluster by (select max(job_id) from s.runs)

select try_cast(user_id as tinyint) as user_id from s.jobs

select cast(cast(user_id as string) as int) as user_id from s.jobs

select left(cast(user_id as string), 1) as user_id from s.jobs

select cast(user_id as boolean) as user_id from s.jobs

select p.team_id as user_id, (select count(*) from s.jobs as j where j.user_id =
p.user_id) as n from s.people as p

select p.user_id, (select max(j.job_id) from s.jobs as j where j.user_id = p.user_id)
as a, (select max(r.job_id) from s.runs as r where r.user_id = p.team_id) as b from
s.people as p

select max(p.user_id) as user_id, count(*) as n from s.people as p where exists
(select 1 from s.jobs as j where j.user_id = p.user_id)

select p.user_id, count(*) over () as n from s.people as p where exists (select 1 from
s.jobs as j where j.user_id = p.user_id)

select p.user_id, sum((select count(*) from s.jobs as j where j.user_id = p.user_id))
as n from s.people as p group by p.user_id, p.team_id

select d.team_id, p.user_id, p.name from s.people as d left join s.people as p on
exists (select 1 from s.jobs as j where j.user_id = p.user_id)

select d.user_id, l.n from s.people as d full join s.people as p on true cross join
lateral (select count(*) as n from s.jobs as j where j.user_id = p.user_id) as l

select coalesce(c.user_id, b.user_id) as user_id, a.job_id from s.jobs as a left join
s.runs as b on a.user_id = b.user_id left join s.jobs as c on b.user_id = c.user_id

select coalesce(c.user_id, a.user_id) as user_id, a.job_id from s.jobs as a left join
s.runs as b on a.user_id = b.user_id left join s.people as c on b.team_id = c.user_id

select a.user_id, b.job_id from s.jobs as a full join s.runs as b on a.team_id =
b.team_id full join s.people as c on true where a.user_id <=> b.user_id

select a.user_id, a.job_id from s.people as p full join s.jobs as a on a.user_id =
p.user_id where a.user_id not in (select r.user_id from s.runs as r)

select a.user_id, a.job_id from s.jobs as a inner join s.people as p on a.user_id =
p.user_id right join s.people as q on a.team_id = q.team_id where a.user_id not in
(select r.user_id from s.runs as r)

select o.user_id, o.job_id from s.jobs as o where exists (select 1 from (select
user_id, struct(team_id as user_id) as o from s.runs) as i where i.user_id =
o.user_id)

select o.user_id, o.job_id from s.jobs as o where exists (select 1 from s.runs as i,
s.seed as e where i.user_id = o.user_id)

select p.user_id, (select count(*) from s.people as q where exists (select 1 from
s.jobs as j where j.user_id = q.user_id)) as n from s.people as p

with x as (select user_id as a, user_id as b from s.jobs union all select team_id,
user_id from s.people) select x.b as user_id, r.job_id from x join s.runs r on x.a =
r.user_id

with x as (select user_id as a, user_id as b, job_id from s.runs union all select
team_id, user_id, 0 from s.people) select b as user_id, sum(job_id) over (partition by
a) as n from x

with x as (select user_id as a, user_id as b, job_id from s.runs union all select
team_id, user_id, 0 from s.people) select b as user_id, job_id from x where a in
(select user_id from s.runs)

with x as (select user_id as a, user_id as b from s.jobs union all select team_id,
user_id from s.people) select x.b as user_id, (select count(*) from s.runs r where
r.user_id = x.a) as n from x

select p.user_id, r.job_id from s.people p left join s.jobs j on p.user_id = j.user_id
and p.team_id = j.user_id join s.runs r on r.user_id = p.team_id

select p.user_id, r.job_id from s.people p left anti join s.jobs j on p.user_id =
j.user_id and p.team_id = j.user_id join s.runs r on r.user_id = p.team_id

select p.user_id, r.job_id from s.jobs j right join s.people p on p.user_id = j.user_id
and p.team_id = j.user_id join s.runs r on r.user_id = p.team_id

select coalesce(p.user_id, j.user_id) as user_id, r.job_id from s.people p full join
s.jobs j on p.user_id = j.user_id and p.team_id = j.user_id join s.runs r on r.user_id =
coalesce(p.team_id, j.user_id)

select coalesce(p.user_id, j.user_id) as user_id, r.job_id from s.jobs j full join
s.people p on p.user_id = j.user_id and p.team_id = j.user_id join s.runs r on r.user_id
= coalesce(p.team_id, j.user_id)

select q.user_id, r.job_id from (select user_id, team_id from s.people except select
user_id as u, user_id as w from s.jobs) q join s.runs r on r.user_id = q.team_id

with recursive t as (select user_id as a, team_id as b, 0 n from s.people union all
select t.a, t.b, n + 1 from t join s.jobs j on j.user_id = t.a and j.user_id = t.b where
n < 2) select t.a as user_id, r.job_id from t join s.runs r on r.user_id = t.b

select * from (select job_id, user_id, team_id, actor_user_id from s.jobs) as t(user_id,
job_id, team_id, z) pivot (max(job_id) for team_id in (1 as a, 2 as b))

with c as (select job_id, user_id, team_id, actor_user_id from s.jobs) select * from c
as t(user_id, job_id, team_id, z) pivot (max(job_id) for team_id in (1 as a, 2 as b))

select a.user_id, b.job_id from s.jobs a join s.runs b on cast(a.user_id as decimal(20))
= cast(b.user_id as string)

select a.user_id, b.job_id from (select cast(user_id as decimal(20)) as user_id, job_id
from s.jobs) a join (select cast(user_id as string) as user_id, job_id from s.runs) b
using (user_id)

select a.user_id, a.job_id from s.jobs a where exists (select 1 from s.runs r where
cast(r.user_id as string) = cast(a.user_id as decimal(20)))

select a.user_id, a.job_id from s.jobs a where cast(a.user_id as string) in (select
cast(user_id as decimal(19)) from s.runs)

select cast(user_id as string) as user_id, job_id from s.jobs union all select
cast(user_id as decimal(20)), job_id from s.runs

select user_id, job_id from s.jobs union all select f.n, 0 from (select struct(double(1)
as n) as f)

select user_id, job_id from s.jobs union all select f['a'], 0 from (select map('a',
double(1)) as f)

select user_id, job_id from s.jobs union all select n, 0 from (select f.* from (select
struct(double(1) as n) as f))

select user_id, job_id from s.jobs union all select f.*, 0 from (select struct(double(1)
as n) as f)

select user_id, job_id from s.jobs union all select hypot(1, 2), 0

select user_id, job_id from s.jobs union all select rint(team_id), 0 from s.people

select user_id, job_id from s.jobs union all select try_avg(team_id), 0 from s.people

select user_id, job_id from s.jobs union all select from_json(name, 'a double').a, 0
from s.people

select user_id, job_id from s.jobs union all select x, 0 from s.people lateral view
explode(array(float(0))) t as x

select user_id, job_id from s.jobs union all select x, 0 from (select
explode(array(float(0))) as x)

select user_id from s.jobs union all select a from (select name, team_id from s.people)
pivot (avg(name) for team_id in (1 as a))

select user_id, name like any (select max(name) from s.jobs) n from s.jobs

select user_id, any(job_id > 1) n from s.jobs where 'a' like any ('a', 'b')

select jobs.user_id, j.job_id from s.people jobs, lateral (select jobs.user_id, job_id
from (s.jobs)) j

select j.user_id from s.jobs j where exists (select 1 from s.runs r where r.user_id in
(j.user_id, j.team_id))

select j.user_id from s.jobs j where exists (select 1 from s.runs r where r.user_id not
in (j.user_id))

select j.user_id, (select count(*) from s.runs r where coalesce(j.team_id, r.user_id) =
j.user_id) as n from s.jobs j

select j.user_id, l.job_id from s.jobs j, lateral (select r.job_id from s.runs r where
nvl(j.user_id, r.user_id) = j.user_id) as l

select p.user_id, p.name from s.people p where exists (select 1 from s.jobs j where
coalesce(p.team_id, j.user_id) = p.user_id)

select l.user_id, l.n from s.people p, lateral (select coalesce(p.user_id, r.user_id) as
user_id, count(*) as n from s.runs r group by 1) as l

select l.user_id, l.n from s.people p, lateral (select r.user_id, count(*) over
(partition by coalesce(p.user_id, r.user_id)) as n from s.runs r) as l

select q.user_id, r.job_id from (select p.user_id, p.team_id from s.people p where
(p.user_id, p.team_id) not in (select j.user_id, j.user_id as u from s.jobs j) and
p.user_id is not null and p.team_id is not null) as q join s.runs r on r.user_id =
q.team_id

select o as user_id, c from (select u as o, max(team_id) as u, count(*) as c from
(select user_id as u, team_id from s.jobs) as t group by u having exists
(select 1 from s.runs r where r.user_id = u)) as q

select o as user_id, c from (select u as o, max(team_id) as u, count(*) as c from
(select user_id as u, team_id from s.jobs) as t group by u having
(select max(r.job_id) from s.runs r where r.user_id = u) > 1) as q

select r.* from (select struct(actor_user_id as user_id, job_id) as r from s.jobs) as j

select r.* except (user_id) from (select struct(user_id, job_id) as r from s.jobs) as j

select r.*, 8 as user_id from (select struct(user_id, job_id) as r from s.jobs) as j

select r.* from (select struct(user_id, job_id) as r from s.jobs) as j cross join
(select 8 as user_id) as r

select j.r.* from (select struct(user_id, job_id) as r from s.jobs) as j, s.people as r

select r.* from (select struct(user_id, job_id) as r, 1 as n from s.jobs) as j join
(select struct(actor_user_id as user_id) as r from s.runs) k on true

select t.a as user_id from (select r.* from (select struct(actor_user_id as b, user_id
as a) as r from s.jobs) as j) as t(a, b)

select user_id, job_id from s.jobs union all select r.* from (select struct(job_id as a,
user_id) as r from s.runs) as j

select user_id, explode(array(8)) as job_id from s.jobs union all select job_id, user_id
from s.runs

select job_id, explode(array(8)) as user_id from s.jobs

select user_id, explode(array(8)) as user_id from s.jobs

select user_id from s.jobs union all select explode(array(1e0)) as n from s.people

select user_id from s.jobs union all select n from (select posexplode(array(1e0)) as (p,
n) from s.people)

select posexplode(array(user_id)) as user_id, 1 as n from s.jobs union all select
user_id, job_id from s.runs

select user_id, explode(array(8)), job_id from s.jobs union all select user_id, job_id,
1 from s.runs

select case when a.user_id is not null then b.user_id else a.user_id end as user_id,
a.job_id from s.jobs a full join s.runs b on a.user_id = b.user_id

select case when a.user_id is null then a.user_id else b.user_id end as user_id,
a.job_id from s.jobs a full join s.runs b on a.user_id = b.user_id

select case when a.job_id is not null then a.user_id else b.user_id end as user_id,
a.job_id from s.jobs a full join s.runs b on a.user_id = b.user_id

select case when a.user_id is not null and a.job_id > 1 then a.user_id else b.user_id
end as user_id, a.job_id from s.jobs a full join s.runs b on a.user_id = b.user_id

select case when a.user_id is not null then a.user_id else b.user_id end as user_id,
a.job_id from s.jobs a full join s.runs b on a.job_id = b.job_id

select case when a.user_id is not null then a.user_id else 8 end as user_id, b.job_id
from s.jobs a full join s.runs b on a.user_id = b.user_id

select case when a.user_id is not null then a.user_id end as user_id, b.job_id from
s.jobs a full join s.runs b on a.user_id = b.user_id

select case a.user_id when a.user_id is not null then a.user_id else b.user_id end as
user_id, b.job_id from s.jobs a full join s.runs b on a.user_id = b.user_id

select case when a.user_id is not null then a.user_id when b.user_id is null then
b.user_id else c.user_id end as user_id, c.job_id from s.jobs a full join s.runs b on
a.user_id = b.user_id full join s.jobs c on coalesce(a.user_id, b.user_id) = c.user_id

select nvl2(a.user_id, b.user_id, a.user_id) as user_id, a.job_id from s.jobs a full
join s.runs b on a.user_id = b.user_id

select if(a.user_id is null, a.user_id, b.user_id) as user_id, a.job_id from s.jobs a
full join s.runs b on a.user_id = b.user_id

select any_value(user_id) as user_id, count(*) as n from s.jobs group by job_id

select max(user_id) as user_id, count(*) as n from s.jobs group by job_id, user_id % 2

select max(actor_user_id) as user_id, count(*) as n from s.jobs group by user_id

select max(user_id) filter (where job_id = 1) as user_id, count(*) as n from s.jobs
group by user_id

select max(user_id) over (partition by user_id) as user_id, team_id from s.jobs

select max(user_id + 1) as user_id, count(*) as n from s.jobs group by user_id

select max_by(user_id, job_id) as user_id, count(*) as n from s.jobs group by team_id

select max(user_id) as user_id, count(*) as n from s.jobs group by rollup(user_id)

select max(b.user_id) as user_id, count(*) as n from s.jobs a left join s.runs b on
a.user_id = b.user_id group by a.user_id

select sum(user_id) as user_id, count(*) as n from s.jobs group by user_id

select user_id, team_id, count(*) as n from s.jobs group by rollup(user_id, team_id)
having team_id is not null

select user_id, team_id, count(*) as n from s.jobs group by rollup(team_id) having
user_id is not null

select user_id, team_id, count(*) as n from s.jobs group by rollup(user_id, team_id)
having user_id is not null or team_id = 1

select user_id, team_id, count(*) as n from s.jobs group by rollup(user_id, team_id)
having user_id is null

select team_id, count(*) as n from s.jobs group by rollup(user_id, team_id) having
user_id is not null

select team_id as user_id, count(*) as n from s.jobs j group by rollup(user_id, team_id)
having user_id is not null

select 8 as user_id, j.user_id as u, count(*) as n from s.jobs j group by
rollup(j.user_id, j.team_id) having user_id is not null

select user_id, coalesce(user_id, 8) as user_id, count(*) as n from s.jobs j group by
cube(user_id, team_id) having user_id is not null

select user_id, team_id, count(*) as n from s.jobs where user_id is not null group by
rollup(user_id, team_id)

select user_id, team_id, count(*) as n from s.jobs group by rollup(user_id, team_id)
having max(user_id) is not null

select user_id, team_id, count(*) as n from s.jobs group by rollup(user_id, team_id)
having coalesce(user_id, 8) is not null

select user_id, team_id, count(*) as n from s.jobs group by rollup(user_id, team_id)
having (select user_id) is not null

select user_id, count(*) as n from s.jobs group by rollup(user_id, team_id) having
user_id <=> null

select window(cast(job_id as timestamp), '1 hour') as w, count(*) as n from s.jobs group
by window(cast(job_id as timestamp), '1 hour')

select max(user_id) as user_id, session_window(cast(job_id as timestamp), '1 hour') as w
from s.jobs group by session_window(cast(job_id as timestamp), '1 hour')

select user_id, count(*) over (partition by window(cast(job_id as timestamp), '1 hour'))
as n from s.jobs

select *, window(cast(job_id as timestamp), '1 hour') as w from s.jobs union all select
*, 1 from s.runs

select * from s.jobs where window(cast(job_id as timestamp), '1 hour').start >
'2026-01-01'

select window(user_id, '1 hour').start as user_id, count(*) as n from s.jobs group by
user_id, window(user_id, '1 hour')

select z.job_id, x.r.u as user_id from (select struct(cast(user_id as decimal(21, 0)) as
u) as r from s.jobs) as x join (select cast(user_id as string) as user_id, job_id from
s.runs) as z on x.r.u = z.user_id

select job_id, explode(array(user_id)) as user_id from s.jobs

select r.* from (select max(struct(user_id, job_id)) as r from s.jobs group by team_id)
as a

select user_id, item.* from (select user_id, job_id from s.jobs) as a lateral view
explode(array(named_struct('a', 8))) t as item union all select a, user_id from (select
job_id as a, user_id from s.runs)

select r.u as user_id, count(*) as n from (select struct(user_id as u) as r, team_id
from s.jobs) as a group by rollup(r.u, team_id) having r.u is not null

select b.user_id, count(*) as n from s.jobs as a join s.runs as b on a.user_id =
b.user_id group by rollup(b.user_id, b.team_id) having a.user_id is not null
"""

# Models that leak nothing: none of them may be a finding.
CLEAN = """\
select user_id, job_id from s.jobs j where (j.user_id, j.job_id) not in (select
r.user_id, r.job_id from s.runs r) and j.user_id is not null

select user_id, job_id from s.jobs j where (j.job_id, j.user_id) not in (select
r.job_id, r.user_id from s.runs r) and j.user_id > 0

select j.user_id, (select sum(x.n) from (select r.job_id, count(*) n from s.runs r where
r.user_id = j.user_id group by r.job_id) x) t from s.jobs j

select j.user_id, (select max(x.job_id) from (select r.job_id from s.runs r where
r.user_id = j.user_id union all select k.job_id from s.jobs k where k.user_id =
j.user_id) x) t from s.jobs j

select j.user_id, (select max(x.n) from (select r.job_id n from s.runs r where r.user_id
= j.user_id) x join s.people p on p.team_id = x.n) t from s.jobs j

select p.user_id, (select sum(x.n) from (select count(*) n from s.runs r where r.user_id
= p.user_id) x) t from s.people p

select j.user_id from s.jobs j where exists (select 1 from (select * from s.runs r where
r.user_id = j.user_id) x where x.job_id = j.job_id)

select coalesce(a.user_id, b.user_id, c.user_id) as user_id, a.n, b.m, c.k from (select
user_id, count(*) n from s.jobs group by 1) a full join (select user_id, count(*) m from
s.runs group by 1) b on a.user_id = b.user_id full join (select user_id, max(job_id) k
from s.jobs group by 1) c on coalesce(a.user_id, b.user_id) = c.user_id

select coalesce(coalesce(a.user_id, b.user_id), c.user_id) as user_id, a.job_id from
s.jobs a full join s.runs b on a.user_id = b.user_id full join s.jobs c on
coalesce(b.user_id, a.user_id) = c.user_id

select coalesce(c.user_id, a.user_id, b.user_id) as user_id, a.job_id from s.jobs a full
join s.runs b on a.user_id = b.user_id left join s.jobs c on coalesce(a.user_id,
b.user_id) = c.user_id

select coalesce(a.user_id, b.user_id, c.user_id) as user_id, a.job_id from s.jobs a full
join s.runs b on a.user_id = b.user_id right join s.jobs c on coalesce(a.user_id,
b.user_id) = c.user_id

select coalesce(a.user_id, b.user_id, c.user_id, d.user_id) as user_id, a.job_id,
d.team_id from s.jobs a full join s.runs b on a.user_id = b.user_id full join s.jobs c
on coalesce(a.user_id, b.user_id) = c.user_id full join s.runs d on coalesce(a.user_id,
b.user_id, c.user_id) = d.user_id

select /*+ repartition(3) */ user_id, job_id from s.jobs

select user_id, job_id from s.jobs order by all

select user_id, team_id, sum(job_id) n from s.jobs group by user_id, team_id having
sum(job_id) > 1 order by n

select user_id, x.x from s.jobs lateral view outer explode(split('a,b', ',')) x as x

select j.user_id, r.job_id from s.jobs j inner join lateral (select job_id from s.runs
r where r.user_id = j.user_id order by job_id limit 1) r

select j.user_id, (select max(r.job_id) from s.runs r where r.user_id = j.user_id and
r.team_id = j.team_id) m from s.jobs j

select user_id, job_id from s.jobs where exists (select 1 from s.people p where
p.team_id = jobs.team_id)

select jobs.user_id, job_id from s.jobs where exists (select 1 from s.runs where
runs.user_id = jobs.user_id)

select user_id, count(distinct job_id) n, collect_list(struct(job_id, team_id)) l from
s.jobs group by user_id

select user_id, row_number() over (partition by user_id order by job_id desc) n from
s.jobs qualify n = 1

select user_id, job_id from s.jobs qualify row_number() over (partition by user_id
order by job_id desc) = 1

select user_id, avg(job_id) over (partition by user_id order by job_id rows between 2
preceding and current row) a from s.jobs

select user_id, sum(job_id) over w a, max(job_id) over w b from s.jobs window w as
(partition by user_id order by job_id)

with t as (select user_id, max(job_id) m from s.jobs group by user_id) select
j.user_id, j.job_id, t.m from s.jobs j join t on t.user_id = j.user_id

with t as (select user_id, job_id from s.jobs), u as (select user_id, job_id from
s.runs) select * from t union select * from u

select user_id, job_id from s.jobs minus select user_id, job_id from s.runs

select user_id, 'jobs' as kind, job_id from s.jobs union all select user_id, 'runs',
job_id from s.runs

select user_id, coalesce(a.job_id, b.job_id) job_id from s.jobs a full outer join
s.runs b using (user_id, team_id)

select a.user_id, b.job_id from s.jobs a left join s.runs b using (user_id)

select a.*, b.job_id as other from s.jobs a left outer join s.runs b on b.user_id =
a.user_id and b.job_id = a.job_id

select * except (actor_user_id) from s.jobs

select j.* except (job_id), p.name from s.jobs j left join s.people p on p.user_id =
j.actor_user_id

select user_id as `user_id`, `job_id` as `Job Id` from s.jobs

select cast(user_id as string) as user_id from s.jobs

select user_id, case when job_id > 1 then 'a' else 'b' end k, count(*) n from s.jobs
group by user_id, case when job_id > 1 then 'a' else 'b' end

select user_id, if(job_id > 1, 'a', 'b') k, count(*) n from s.jobs group by 1, 2

select user_id, date_trunc('month', current_date) m, count_if(job_id > 1) n from
s.jobs group by all

select distinct user_id, team_id from s.jobs

select j.user_id, d.d from s.jobs j cross join (select explode(sequence(1, 3)) as d) d

select j.user_id, d.d from s.jobs j cross join (values (1), (2)) as d(d)

select j.user_id, d.* from s.jobs j join (select * from values (1, 'a') as t(team_id,
x)) d on d.team_id = j.team_id

select user_id, count(*) n from (select user_id, job_id from s.jobs union all select
user_id, job_id from s.runs) group by user_id

select user_id, n from (select user_id, count(*) n from s.jobs group by user_id) where
n > 1

select j.user_id, p.n from s.jobs j join (select team_id, count(*) n from s.people
group by team_id) p on p.team_id = j.team_id

select user_id, job_id from s.jobs where (user_id, team_id) in (select user_id,
team_id from s.runs)

select user_id, job_id from s.jobs where team_id in (1, 2) and job_id between 1 and 3
and not (job_id = 2)

select user_id, transform(array(job_id), x -> x + 1) t, filter(array(1,2), x -> x > 1)
f from s.jobs

select user_id, map('a', job_id) m, named_struct('a', job_id) s from s.jobs

select user_id, s.a from (select user_id, named_struct('a', job_id) as s from s.jobs)

select user_id, inline(array(struct(job_id, team_id))) from s.jobs

select user_id, stack(2, job_id, team_id) as x from s.jobs

select user_id, posexplode(array(job_id)) as (p, c) from s.jobs

select user_id, team_id, grouping_id() g, count(*) n from s.jobs group by grouping
sets ((user_id, team_id), (user_id))

select user_id, team_id, count(*) n from s.jobs group by user_id, rollup(team_id,
job_id)

select * from (select user_id, team_id, job_id from s.jobs) pivot (sum(job_id) for
team_id in (1, 2, 3))

select user_id, `1` as one from (select user_id, team_id, job_id from s.jobs) pivot
(sum(job_id) for team_id in (1, 2, 3))

with a as (select user_id, team_id, job_id from s.jobs) select * from a pivot
(max(job_id) for team_id in ('x', 'y'))

select user_id, n, v from (select user_id, job_id, team_id from s.jobs) unpivot (v for
n in (job_id, team_id))

select user_id, n, v from s.jobs unpivot exclude nulls (v for n in (job_id as `a b`,
team_id))

with recursive t as (select user_id, job_id as id, 1 as depth from s.jobs union all
select t.user_id, r.job_id, depth + 1 from t join s.runs r on r.user_id = t.user_id
and r.team_id = t.id where depth < 5) select user_id, id, max(depth) d from t group by
user_id, id

with recursive days(d) as (select 1 union all select d + 1 from days where d < 10)
select j.user_id, days.d, count(j.job_id) n from days left join s.jobs j on j.job_id =
days.d where j.user_id is not null group by j.user_id, days.d

select user_id, job_id from s.jobs tablesample (10 percent)

select user_id, job_id from s.jobs tablesample (bucket 1 out of 4)

select a.user_id from s.jobs a semi join s.runs b using (user_id)

with `größe` as (select * from s.jobs) select user_id, job_id as `straße\u017f` from
`GRÖßE`

select a.user_id from s.jobs a left semi join s.runs b on a.user_id = b.user_id and
b.job_id > 1

select a.user_id from s.jobs a anti join s.runs b on a.user_id <=> b.user_id

select user_id, job_id from s.jobs distribute by user_id sort by job_id

select user_id, job_id from s.jobs cluster by user_id

from s.jobs select user_id, job_id where job_id > 1

select j.user_id, j.job_id from s.jobs j, s.people p where j.user_id = p.user_id

select p.user_id, p.name, coalesce(j.n, 0) n from s.people p left join (select
user_id, count(*) n from s.jobs group by user_id) j on j.user_id = p.user_id

select p.name, j.user_id from s.people p right join s.jobs j on j.user_id = p.user_id

select j.user_id as user_id, r.job_id from s.jobs as j inner join s.runs as r on
(j.user_id = r.user_id and (j.job_id = r.job_id or j.team_id = r.team_id))

select user_id, percentile_approx(job_id, 0.5) m from s.jobs group by user_id

select user_id, first(job_id) ignore nulls f from s.jobs group by user_id

select user_id, max(job_id) filter (where team_id = 1) m from s.jobs group by user_id

select user_id, listagg(cast(job_id as string), ',') within group (order by job_id) l
from s.jobs group by user_id

select `j`.`user_id` from `s`.`jobs` as `j`

select s.jobs.user_id, S.Jobs.job_id from s.jobs

select spark_catalog.s.jobs.user_id, s.runs.job_id from s.jobs join s.runs on
s.runs.user_id = s.jobs.user_id

select s.jobs.user_id from s.jobs where exists (select 1 from s.runs where
s.runs.user_id = s.jobs.user_id)

select s.jobs.user_id, count(*) n from s.jobs group by s.jobs.user_id

select J.USER_ID as User_Id, Job_Id from S.Jobs J

with jobs as (select user_id, job_id from s.jobs) select * from jobs

with s as (select user_id, job_id from s.jobs) select s.user_id from s

select user_id, job_id from s.jobs limit all

select user_id, job_id from (select * from s.people) as p natural join (select
user_id, job_id from s.jobs) as j

select user_id, named_struct('u', user_id) as r from s.jobs

select r.user_id as user_id, r.job_id as job_id from (select struct(user_id, job_id) r
from s.jobs)

select user_id, coalesce(try_cast('1' as int), 0) z from s.jobs

select user_id::string as user_id from s.jobs

select string(user_id) as user_id from s.jobs

select user_id, extract(year from current_date) y, interval 1 day i, date '2026-01-01'
d from s.jobs

select user_id, job_id, 1 as `select` from s.jobs where job_id is not distinct from
team_id

select user_id, array_agg(job_id)[0] x from s.jobs group by user_id

select a.user_id from s.jobs a join s.runs b on a.user_id = b.user_id join s.people c
on c.user_id = b.user_id left join s.jobs d on d.user_id = c.user_id

select max(user_id) over (partition by user_id) as u, user_id from s.jobs

select user_id from s.jobs where user_id = 8

select user_id, count(*) from s.jobs group by all having count(*) > 2

select user_id, count(1) over (partition by user_id, team_id) n from (select distinct
user_id, team_id from s.jobs)

(select user_id from s.jobs) union all (select user_id from s.runs) order by user_id

with a as (with b as (select * from s.jobs) select * from b) select user_id from a

select p.user_id, (select count(*) from s.jobs as j where j.user_id = p.user_id) as n
from s.people as p

select p.user_id, p.name from s.people as p where exists (select 1 from s.jobs as j
where j.user_id = p.user_id)

select p.user_id, p.name from s.people as p where not exists (select 1 from s.jobs as
j where j.user_id = p.user_id)

select p.user_id, l.n from s.people as p cross join lateral (select count(*) as n from
s.jobs as j where j.user_id = p.user_id) as l

select p.user_id, (select max(j.job_id) from s.jobs as j where j.user_id = p.user_id)
as a, (select max(r.job_id) from s.runs as r where r.user_id = p.user_id) as b from
s.people as p

select distinct p.user_id, (select max(j.job_id) from s.jobs as j where j.user_id =
p.user_id) as a from s.people as p

select p.user_id, count(*) as n from s.people as p where exists (select 1 from s.jobs
as j where j.user_id = p.user_id) group by p.user_id

select coalesce(c.user_id, b.user_id, a.user_id) as user_id, c.job_id from s.jobs as a
left join s.runs as b on a.user_id = b.user_id left join s.jobs as c on b.user_id =
c.user_id

select b.user_id, b.job_id from s.jobs as a full join s.runs as b on a.user_id =
b.user_id where b.job_id in (1, 2)

select a.user_id, b.job_id from s.jobs as a, s.runs as b where a.user_id <=> b.user_id

select user_id, job_id from (select user_id, user_id as owner, job_id from s.jobs union
all select user_id, team_id, 0 from s.people)

select p.user_id, j.job_id from s.people p left join s.jobs j on p.user_id = j.user_id
and p.team_id = j.user_id

select r.user_id, x.job_id from (select user_id, user_id as owner, job_id from s.jobs
union all select user_id, user_id as u, job_id from s.runs) x join s.runs r on
r.user_id = x.owner

select * from (select user_id, job_id, team_id from s.jobs) as t(user_id, n, team_id)
pivot (max(n) for team_id in (1 as a, 2 as b))

select user_id, count(*) n from s.jobs group by user_id, 1.0

select user_id, count(*) n from s.jobs group by user_id, 1e0, 1.5

select user_id, struct(*) as r from s.jobs

select user_id, n from (select cast(user_id as decimal(20)) as user_id, count(*) n from
s.jobs group by user_id)

select user_id, job_id from s.jobs union all select cast(f.n as bigint), 0 from (select
struct(double(1) as n) as f)

select user_id, job_id from s.jobs union all select user_id, 0 from s.seed

select user_id, job_id from s.jobs union all select s.user_id, 0 from s.seed s

select user_id, job_id from s.jobs union all select * from s.seed

select user_id, job_id from s.jobs union all select coalesce(max(user_id), 0), 0 from
s.people

select user_id, job_id from s.jobs union all select id, 0 from range(3)

select user_id, job_id from s.jobs union all select 0, 1.5

select user_id, job_id from s.jobs union all select null, null

select p.user_id, j.n from (select bigint(team_id + 1) as user_id from s.people) p left
join (select user_id, count(*) n from s.jobs group by user_id) j on j.user_id =
p.user_id

select * from (select user_id, explode(array(1, 2)) as item from s.jobs)

select user_id, x'1f' as b from s.jobs where 'a' like any ('a','b') and 'a' ilike all
('a','b') and 'a' not like any ('b')

select j.user_id, r.job_id from (s.jobs) j join (s.runs) as r on j.user_id = r.user_id

select j.user_id from s.jobs j where exists (select 1 from s.runs r where r.user_id in
(j.user_id))

select user_id, count(*) as n from s.jobs j group by user_id having exists
(select 1 from s.runs r where r.user_id = j.user_id)

select user_id, count(*) as n from s.jobs group by user_id having exists (select 1 from
s.runs r where r.user_id = jobs.user_id)

select r.*, n from (select struct(user_id, job_id) as r, 1 as n from s.jobs) as j

select j.r.* from (select struct(user_id, job_id) as r from s.jobs) as j

select j.user_id, r.* from (select user_id, struct(team_id, job_id) as r from s.jobs) j

select r.* except (job_id) from (select named_struct('user_id', user_id, 'job_id',
job_id) as r from s.jobs) as j

select user_id, job_id from s.jobs union all select user_id, explode(array(job_id,
team_id)) as job_id from s.runs

select user_id, explode(sequence(1, 3)) as n from s.jobs union all select user_id,
job_id from s.runs

select user_id, n from (select user_id, posexplode(array(job_id)) as (p, n) from s.jobs)
union all select user_id, job_id from s.runs

select case when a.user_id is not null then a.user_id else b.user_id end as user_id,
a.job_id from s.jobs a full join s.runs b on a.user_id = b.user_id

select case when a.user_id is null then b.user_id else a.user_id end as user_id,
a.job_id from s.jobs a full join s.runs b on a.user_id = b.user_id

select if(a.user_id is null, b.user_id, a.user_id) as user_id, a.job_id from s.jobs a
full join s.runs b on a.user_id = b.user_id

select nvl2(a.user_id, a.user_id, b.user_id) as user_id, a.job_id from s.jobs a full
join s.runs b on a.user_id = b.user_id

select case when a.user_id is not null then a.user_id when b.user_id is not null then
b.user_id else c.user_id end as user_id, c.job_id from s.jobs a full join s.runs b on
a.user_id = b.user_id full join s.jobs c on coalesce(a.user_id, b.user_id) = c.user_id

select case when a.user_id is not null then a.user_id else b.user_id end as user_id,
count(*) as n from s.jobs a full join s.runs b on a.user_id = b.user_id group by case
when a.user_id is not null then a.user_id else b.user_id end

select any_value(user_id) as user_id, count(*) as n from s.jobs group by user_id

select max(j.user_id) as user_id, min(j.job_id) as n from s.jobs j group by j.user_id,
j.team_id

select struct(first(user_id) as u) as r, last(user_id) as user_id from s.jobs group by
user_id

select user_id, sum(count(*)) over (partition by max(user_id)) as n from s.jobs group by
user_id, team_id

select max(user_id) as user_id, team_id from s.jobs group by user_id, rollup(team_id)

select user_id, team_id, count(*) as n from s.jobs group by rollup(user_id, team_id)
having user_id is not null

select j.user_id, team_id, count(*) as n from s.jobs j group by j.user_id, team_id with
cube having (j.user_id is not null and count(*) > 1)

select user_id, team_id, count(*) as n from s.jobs group by grouping sets ((user_id,
team_id), (team_id), ()) having user_id > 0

select user_id, job_id, sum(count(*)) over (partition by user_id) as n from s.jobs group
by rollup(user_id, job_id) having user_id is not null

select user_id, window(cast(job_id as timestamp), '1 hour').start as w, count(*) as n
from s.jobs group by user_id, window(cast(job_id as timestamp), '1 hour')

select user_id, window.start as w, count(*) as n from s.jobs group by user_id,
window(cast(job_id as timestamp), '1 hour')

select user_id, session_window.end as w, count(*) as n from s.jobs group by user_id,
session_window(cast(job_id as timestamp), '5 minutes')

select user_id, window_time(w) as t from (select user_id, window(cast(job_id as
timestamp), '1 hour', '30 minutes') as w, count(*) as n from s.jobs group by user_id,
window(cast(job_id as timestamp), '1 hour', '30 minutes'))

select user_id, item.* from s.jobs lateral view explode(array(named_struct('a',
job_id))) t as item

select * from (select user_id, window(cast(job_id as timestamp), '1 hour') as w,
count(*) as n from s.jobs group by user_id, window(cast(job_id as timestamp), '1 hour'))

select r.* from (select max(struct(job_id, user_id)) as m, struct(max(user_id) as
user_id, max(job_id) as j) as r from s.jobs group by user_id) as a
"""
