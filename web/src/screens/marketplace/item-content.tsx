/** The content of one version, exactly as an installation copies it. */
import type { MarketplaceItem } from '../../../../client/index.ts';
import { setQuery } from '../../app/router.ts';
import { Code } from '../../ui/code.tsx';
import page from '../../ui/page.module.css';
import { ProblemText } from '../../ui/problem.tsx';
import { versionText } from './facts.tsx';
import { useItemVersion } from './market-data.ts';
import css from './marketplace.module.css';
import { words } from './words.ts';

export function ItemContent({ item, version }: { item: MarketplaceItem; version: string }) {
  const { data, error, refetch } = useItemVersion(item.id, version);
  return (
    <div class={page['parts']}>
      <div class={page['actions']}>
        <select
          aria-label={words.versionColumns.version}
          value={version}
          onChange={({ currentTarget: { value } }) =>
            setQuery({ version: value === item.version ? undefined : value }, 'replace')
          }
        >
          {item.versions.map((one) => (
            <option key={one.version} value={one.version}>
              {versionText(item.kind, one.version)} · {words.statuses[one.status]}
            </option>
          ))}
        </select>
      </div>
      {error !== null && <ProblemText error={error} retry={() => void refetch()} />}
      {data !== undefined && (
        <>
          <p class="muted">{words.contentHelp}</p>
          <p>
            {words.digest} <code class={css['digest']}>{data.digest}</code>
          </p>
          <Code label={words.content} text={JSON.stringify(data.content, null, 2)} />
        </>
      )}
    </div>
  );
}
