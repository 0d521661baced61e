import type { EntityManager } from '../../db/orm.ts';
import { sealAudit } from '../../domain/audit/seal.ts';
import { until } from './platform.ts';

/** Until all is sealed that was committed before; transactions of other tests hold seals back. */
export async function sealAll(fork: () => EntityManager): Promise<void> {
  await until(
    async () => {
      await sealAudit(fork);
      const [row] = await fork().execute<{ open: boolean }[]>(
        `select exists (select from audit_entry e where e.tx >= coalesce(
                   (select to_tx from audit_seal order by no desc limit 1), '0')) as open`,
      );
      return row?.open;
    },
    (open) => open === false,
  );
}
