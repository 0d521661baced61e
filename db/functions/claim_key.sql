-- Claims an `Idempotency-Key` until the end of the transaction. `taken`: no other transaction has it. The
-- others are the answer of the first request with the key; null if there is none that has not expired.
create or replace function claim_key(
  p_user uuid, p_method text, p_path text, p_key text,
  out taken boolean, out fingerprint text, out status int, out headers jsonb, out body text
)
language plpgsql set enable_seqscan = off as $$
begin
  taken := pg_try_advisory_xact_lock(
    hashtextextended('idempotency ' || p_user || ' ' || p_method || ' ' || p_path || ' ' || p_key, 0));
  if taken then
    select r.fingerprint, r.status, r.headers, r.body into fingerprint, status, headers, body
      from idempotency_record r
     where r.user_id = p_user and r.method = p_method and r.path = p_path and r.key = p_key
       and r.expires_at > now();
  end if;
end $$;
