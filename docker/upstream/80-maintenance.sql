-- Retention. For the service role or a session without a token; the schedules of the settings run it by pg_cron
-- where that is installed.

-- Removes tombstones past their time, and remembers the highest number among them: a cursor below it has missed
-- removals. Answers that number, or 0.
create or replace function kizunasync.reap() returns bigint
language plpgsql volatile security definer set search_path = '' as $$
declare
  -- A value, not a join: the planner takes the one row of a fresh table for thousands and compiles the statement.
  project_days constant integer := (select s.tombstone_ttl_days from kizunasync.settings s);
  highest bigint;
begin
  perform kizunasync.demand_operator();
  with reaped as (
    delete from kizunasync.tombstones t
    where t.deleted_at < now() - make_interval(days => coalesce(
      (select r.tombstone_ttl_days from kizunasync.registered_tables r where r.table_name = t.table_name),
      project_days))
    returning t.seq
  )
  select max(seq) into highest from reaped;
  update kizunasync.reap_state
    set reaped_seq = greatest(reaped_seq, coalesce(highest, 0)), last_run_at = clock_timestamp();
  -- The log of a table that takes part no more goes after the same time.
  delete from kizunasync.change_log l
    where l.written_at < now() - make_interval(days => project_days)
      and not exists (select from kizunasync.registered_tables r where r.table_name = l.table_name);
  return coalesce(highest, 0);
end $$;

-- Removes log entries that a newer entry or tombstone of the same row supersedes, as far as every client has seen
-- them. Answers how many.
create or replace function kizunasync.compact() returns bigint
language plpgsql volatile security definer set search_path = '' as $$
declare
  floor_seq bigint;
  removed bigint;
begin
  perform kizunasync.demand_operator();
  select greatest(
    coalesce(
      (select min(split_part(split_part(c.cursor, '~', 1), ':', 1)::bigint)
        from kizunasync.clients c, kizunasync.settings s
        where c.last_seen >= now() - make_interval(days => s.client_ttl_days) and c.cursor <> '0'
          and c.cursor not like '0:%'),
      (select max(l.seq) from kizunasync.change_log l), 0),
    (select reaped_seq from kizunasync.reap_state)) into floor_seq;
  with gone as (
    delete from kizunasync.change_log l
    where l.seq <= floor_seq and (
      exists (
        select from kizunasync.change_log n
        where n.table_name = l.table_name and n.pk = l.pk and n.seq > l.seq)
      or exists (
        select from kizunasync.tombstones t
        where t.table_name = l.table_name and t.pk = l.pk and t.seq > l.seq))
    returning l.seq
  ), journals as (
    delete from kizunasync.overwrites o using gone where o.winner_seq = gone.seq
  )
  select count(*) into removed from gone;
  return removed;
end $$;

-- Forgets clients and verdicts past their time, and what users that are gone were sent.
create or replace function kizunasync.prune() returns void
language plpgsql volatile security definer set search_path = '' as $$
begin
  perform kizunasync.demand_operator();
  delete from kizunasync.clients c using kizunasync.settings s
    where c.last_seen < now() - make_interval(days => s.client_ttl_days);
  delete from kizunasync.ledger l using kizunasync.settings s
    where l.recorded_at < now() - make_interval(days => s.client_ttl_days);
  if to_regclass('auth.users') is not null then
    execute 'delete from kizunasync.grants g where not exists (select from auth.users u where u.id::text = g.user_id)';
  end if;
end $$;

-- Puts the three on their schedules; run it again after the schedules in the settings change.
create or replace function kizunasync.schedule() returns void
language plpgsql volatile set search_path = '' as $$
declare
  plan kizunasync.settings;
begin
  perform kizunasync.demand_operator();
  if not exists (select from pg_catalog.pg_extension where extname = 'pg_cron') then return; end if;
  select * into plan from kizunasync.settings;
  execute 'select cron.schedule($1, $2, $3)' using 'kizunasync-reap', plan.reap_schedule, 'select kizunasync.reap()';
  execute 'select cron.schedule($1, $2, $3)'
    using 'kizunasync-compact', plan.compact_schedule, 'select kizunasync.compact()';
  execute 'select cron.schedule($1, $2, $3)'
    using 'kizunasync-prune', plan.client_prune_schedule, 'select kizunasync.prune()';
end $$;

select kizunasync.schedule();
