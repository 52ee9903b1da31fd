-- What the storm blows through: six tables, one for each way to be synced, and an audit of every change that lands.
-- Ana is in red, blue and gold; Ben in red, blue and green; nobody is in black.

create table public.members (
  user_id uuid not null,
  team_id text not null,
  primary key (user_id, team_id)
);
alter table public.members enable row level security;
create policy "members see themselves" on public.members
  for select to authenticated using (user_id = (select auth.uid()));
grant select on public.members to authenticated;
insert into public.members
  select 'a0a00000-0000-4000-8000-000000000001'::uuid, unnest('{red,blue,gold}'::text[])
  union all select 'be000000-0000-4000-8000-000000000001', unnest('{red,blue,green}'::text[]);

create function public.my_teams() returns setof text language sql stable as $$
  select team_id from public.members where user_id = (select auth.uid())
$$;

create table public.audit (
  at bigint generated always as identity primary key,
  pushed boolean not null,
  place text not null,
  pk text not null,
  op text not null,
  old jsonb,
  new jsonb
);
alter table public.audit enable row level security;

create function public.remember() returns trigger language plpgsql security definer set search_path = '' as $$
declare
  image jsonb := to_jsonb(coalesce(new, old));
  names text[] := array(select unnest(tg_argv));
  key text := image ->> names[1];
begin
  if array_length(names, 1) > 1 then
    select '[' || string_agg('"' || (image ->> name) || '"', ', ' order by place) || ']' into key
    from unnest(names) with ordinality as part(name, place);
  end if;
  insert into public.audit (pushed, place, pk, op, old, new) values (
    coalesce(current_setting('request.jwt.claims', true), '') <> '', tg_table_name, key, tg_op,
    case when tg_op <> 'INSERT' then to_jsonb(old) end, case when tg_op <> 'DELETE' then to_jsonb(new) end);
  return null;
end
$$;

create table public.items (
  id uuid primary key,
  team_id text not null,
  mark text,
  n bigint not null default 0,
  tags text[] not null default '{}',
  note text check (note <> 'forbidden'),
  slug text unique,
  price numeric(10, 2),
  meta jsonb,
  due timestamptz,
  done boolean not null default false
);
create table public.pieces (
  box text not null,
  no integer not null,
  team_id text not null,
  mark text,
  n bigint not null default 0,
  note text check (note <> 'forbidden'),
  primary key (box, no)
);
create table public.counters (
  id text primary key,
  mark text,
  n bigint not null default 0,
  tags text[] not null default '{}',
  note text check (note <> 'forbidden')
);
create table public.tasks (
  id uuid primary key,
  user_id uuid not null default auth.uid(),
  mark text,
  n bigint not null default 0,
  note text check (note <> 'forbidden')
);
create table public.memos (
  id uuid primary key,
  team_id text not null,
  mark text,
  note text check (note <> 'forbidden'),
  deleted_at timestamptz
);
create table public.clocks (
  id uuid primary key,
  team_id text not null,
  mark text,
  note text check (note <> 'forbidden')
);

do $$
declare
  place text;
begin
  foreach place in array '{items,pieces,counters,tasks,memos,clocks}'::text[] loop
    execute format('alter table public.%I enable row level security', place);
    execute format('grant select, insert, update, delete on public.%I to authenticated', place);
    execute format(
      'create policy "allowed" on public.%I for all to authenticated using (%s) with check (%2$s)', place,
      case place when 'counters' then 'true' when 'tasks' then 'user_id = (select auth.uid())'
        else 'team_id in (select public.my_teams())' end);
    execute format(
      'create trigger remember after insert or update or delete on public.%I for each row execute function '
      'public.remember(%s)', place, case place when 'pieces' then '''box'', ''no''' else '''id''' end);
  end loop;
end
$$;

select kizunasync.register_table(p_table => 'public.items', p_sync_mode => 'read-write', p_bucket_column => 'team_id');
select kizunasync.register_table(p_table => 'public.pieces', p_sync_mode => 'read-write',
  p_bucket_column => 'team_id', p_key_columns => '{box,no}');
select kizunasync.register_table(p_table => 'public.counters', p_sync_mode => 'read-write');
select kizunasync.register_table(p_table => 'public.tasks', p_sync_mode => 'read-write', p_bucket_column => 'user_id');
select kizunasync.register_table(p_table => 'public.memos', p_sync_mode => 'read-write',
  p_bucket_column => 'team_id', p_soft_delete_column => 'deleted_at');
select kizunasync.register_table(p_table => 'public.clocks', p_sync_mode => 'read-write',
  p_bucket_column => 'team_id', p_conflict_mode => 'hlc');

-- An anchor for every bucket value; nothing ever touches one.
insert into public.items (id, team_id) select gen_random_uuid(), unnest('{red,blue,gold,green}'::text[]);
insert into public.pieces (box, no, team_id) select 'anchor-' || team, 0, team
  from unnest('{red,blue,gold,green}'::text[]) as team;
insert into public.memos (id, team_id) select gen_random_uuid(), unnest('{red,blue,gold,green}'::text[]);
insert into public.clocks (id, team_id) select gen_random_uuid(), unnest('{red,blue,gold,green}'::text[]);
insert into public.tasks (id, user_id) select gen_random_uuid(), user_id from public.members group by user_id;
insert into public.counters (id) values ('anchor');
