-- Who got the vote of the person of these words, one after the other, by the column `delegations` of a human
-- task.
create or replace function vote_holders(p_delegations jsonb, p_words text[]) returns setof uuid
language sql immutable as $$
  with recursive held (id) as (
    select d.value::uuid from jsonb_each_text(p_delegations) d where d.key = any(p_words)
    union
    select (p_delegations ->> ('id:' || h.id))::uuid from held h where p_delegations ? ('id:' || h.id))
  select id from held
$$;
