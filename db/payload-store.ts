import type { MikroORM } from '@mikro-orm/postgresql';

/** Big payloads of Temporal histories, by the digest of their content. */
export function createPayloadStore(orm: MikroORM): {
  put(digest: string, data: Uint8Array): Promise<void>;
  get(digest: string): Promise<Uint8Array | null>;
} {
  return {
    async put(digest, data) {
      await orm.em.fork().execute(
        `insert into temporal_payload (digest, data) values (?, ?) on conflict (digest) do update set used_at = clock_timestamp()`,
        [digest, Buffer.from(data)],
      );
    },
    async get(digest) {
      const [row] = await orm.em.fork().execute<{ data: Buffer }[]>(`select data from temporal_payload where digest = ?`, [digest]);
      return row?.data ?? null;
    },
  };
}
