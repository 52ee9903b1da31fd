-- The application of these tests. A row belongs to a user, to a kitchen, or to everyone; each table has one trait
-- that a scenario needs.

create table members (user_id uuid not null, kitchen_id integer not null, primary key (user_id, kitchen_id));

create function in_kitchen(wanted integer) returns boolean language sql stable security definer
set search_path = '' as $$
  select exists (select from public.members where user_id = auth.uid() and kitchen_id = wanted)
$$;

create table todos (
  id uuid primary key,
  user_id uuid not null,
  title text check (title <> 'forbidden'),
  note text,
  done boolean not null default false,
  n integer check (n >= 0),
  big bigint,
  likes integer,
  version integer,
  ref uuid,
  tags text[],
  meta jsonb,
  price numeric(10, 2),
  at timestamptz,
  locked text,
  hidden text default 'nobody reads this'
);

create function judge_title() returns trigger language plpgsql as $$
begin
  if new.title = 'raise' then
    raise exception 'that title is refused';
  elsif new.title = 'raise 55000' then
    raise exception 'not now' using errcode = '55000';
  end if;
  return new;
end
$$;
create trigger judge_title before insert or update on todos for each row execute function judge_title();

create table lists (id uuid primary key, user_id uuid not null, name text);
create table items (
  id uuid primary key, user_id uuid not null, list_id uuid not null references lists (id), label text
);
create table tasks (id uuid primary key, user_id uuid not null, title text, deleted_at timestamptz);
create table numbers (id bigint primary key, user_id uuid not null, v text);
create table pairs (a integer, b integer, user_id uuid not null, v text, primary key (a, b));

-- Every kind of column, and names that must be quoted somewhere.
create type mood as enum ('calm', 'so "so"');
create table kinds (
  id uuid primary key, user_id uuid not null, s smallint, i integer, l bigint, f real, d double precision,
  num numeric, price numeric(10, 2), b boolean, t text, v varchar(20), day date, clock time, stamp timestamp,
  at timestamptz, span interval, raw bytea, addr inet, feeling mood, j json, jb jsonb, u uuid,
  ints integer[], texts text[], nested integer[], times timestamptz[], jsons jsonb[], extra tsrange
);
create table odd (
  id text primary key, user_id uuid not null, "camelCase" text, "with space" text, "select" text, "ünï" text,
  "quo""te" text
);

create table recipes (
  slug text primary key, kitchen_id integer not null, name text, servings integer, tags text[]
);
create table posts (id uuid primary key, kitchen_id integer not null, title text, body text);
create table cards (id uuid primary key, kitchen_id integer not null, title text, body text, n integer);

create table units (code text primary key, name text);
create table labels (id integer primary key, owner uuid not null, shared boolean not null default true, name text);
create table strays (id uuid primary key, v text);

alter table members enable row level security;
alter table todos enable row level security;
alter table lists enable row level security;
alter table items enable row level security;
alter table tasks enable row level security;
alter table numbers enable row level security;
alter table pairs enable row level security;
alter table kinds enable row level security;
alter table odd enable row level security;
alter table recipes enable row level security;
alter table posts enable row level security;
alter table cards enable row level security;
alter table units enable row level security;
alter table labels enable row level security;
alter table strays enable row level security;

revoke all on all tables in schema public from anon, authenticated;
grant select, insert, update, delete on lists, items, tasks, numbers, pairs, kinds, odd, recipes, posts, cards, labels,
  strays to authenticated;
grant select on units to authenticated;
grant select (id, user_id, title, note, done, n, big, likes, version, ref, tags, meta, price, at, locked)
  on todos to authenticated;
grant insert (id, user_id, title, note, done, n, big, likes, version, ref, tags, meta, price, at),
  update (user_id, title, note, done, n, big, likes, version, ref, tags, meta, price, at), delete
  on todos to authenticated;

create policy own on todos to authenticated using (user_id = auth.uid()) with check (user_id = auth.uid());
create policy own on lists to authenticated using (user_id = auth.uid()) with check (user_id = auth.uid());
create policy own on items to authenticated using (user_id = auth.uid()) with check (user_id = auth.uid());
create policy own on tasks to authenticated using (user_id = auth.uid()) with check (user_id = auth.uid());
create policy own on numbers to authenticated using (user_id = auth.uid()) with check (user_id = auth.uid());
create policy own on pairs to authenticated using (user_id = auth.uid()) with check (user_id = auth.uid());
create policy own on kinds to authenticated using (user_id = auth.uid()) with check (user_id = auth.uid());
create policy own on odd to authenticated using (user_id = auth.uid()) with check (user_id = auth.uid());
create policy members on recipes to authenticated using (in_kitchen(kitchen_id)) with check (in_kitchen(kitchen_id));
create policy members on posts to authenticated using (in_kitchen(kitchen_id)) with check (in_kitchen(kitchen_id));
create policy members on cards to authenticated using (in_kitchen(kitchen_id)) with check (in_kitchen(kitchen_id));
create policy everyone on units to authenticated using (true);
create policy everyone on strays to authenticated using (true);
create policy seen on labels for select to authenticated using (shared or owner = auth.uid());
create policy own on labels to authenticated using (owner = auth.uid()) with check (owner = auth.uid());

select kizunasync.register_table('todos', 'read-write', p_bucket_column => 'user_id');
select kizunasync.register_table('lists', 'read-write', p_bucket_column => 'user_id');
select kizunasync.register_table('items', 'read-write', p_bucket_column => 'user_id');
select kizunasync.register_table('tasks', 'read-write', p_bucket_column => 'user_id',
  p_soft_delete_column => 'deleted_at');
select kizunasync.register_table('numbers', 'read-write', p_bucket_column => 'user_id');
select kizunasync.register_table('pairs', 'read-write', p_bucket_column => 'user_id',
  p_key_columns => array['a', 'b']);
select kizunasync.register_table('kinds', 'read-write', p_bucket_column => 'user_id');
select kizunasync.register_table('odd', 'read-write', p_bucket_column => 'user_id');
select kizunasync.register_table('recipes', 'read-write', p_bucket_column => 'kitchen_id',
  p_key_columns => array['slug']);
select kizunasync.register_table('posts', 'read-write', p_bucket_column => 'kitchen_id', p_conflict_journal => true);
select kizunasync.register_table('cards', 'read-write', p_bucket_column => 'kitchen_id', p_conflict_mode => 'hlc');
select kizunasync.register_table('units', 'pull-only', p_key_columns => array['code']);
select kizunasync.register_table('labels', 'read-write');
