-- Begins the window of a budget anew, if it has ended or not begun. The caller has locked the row.
create or replace function roll_budget(p_subject uuid) returns void
language sql set enable_seqscan = off as $$
  update budget b
     set window_from = w.begins, window_to = w.ends,
         used_cost_usd = 0, used_tokens = 0, used_invocations = 0, used_unpriced = 0,
         more_cost_usd = 0, more_tokens = 0, more_invocations = 0
    from (select case when window_length in ('day', 'month')
                      then date_trunc(window_length, clock_timestamp(), 'UTC')
                      else clock_timestamp() end as begins,
                 case when window_length in ('day', 'month')
                      then (date_trunc(window_length, clock_timestamp() at time zone 'UTC')
                            + ('1 ' || window_length)::interval) at time zone 'UTC'
                      when window_length is not null
                      then clock_timestamp() + window_length::interval end as ends
            from budget where subject_id = p_subject) w
   where b.subject_id = p_subject
     and (b.window_to <= clock_timestamp() or (b.window_to is null and b.window_length is not null))
$$;
