/** What an item is, and what an installation of it needs. */
import type { ItemRequirements, MarketplaceItem } from '../../../../client/index.ts';
import { marketplaceAddress } from '../../app/routes.ts';
import { FormattedText } from '../../ui/formatted-text.tsx';
import page from '../../ui/page.module.css';
import { versionText } from './facts.tsx';
import css from './marketplace.module.css';
import { words } from './words.ts';

export function ItemOverview({ item }: { item: MarketplaceItem }) {
  const { summary, description, categories, tags, requires, digest } = item;
  return (
    <div class={page['parts']}>
      <div class={page['read']}>
        {summary !== null && <p>{summary}</p>}
        {description !== null && <FormattedText text={description} />}
        {summary === null && description === null && <p class="muted">{words.noDescription}</p>}
      </div>
      <Requirements requires={requires} />
      <Links title={words.categories} names={categories} parameter="category" />
      <Links title={words.tags} names={tags} parameter="tag" />
      <section class={page['part']}>
        <h2>{words.digest}</h2>
        <p>
          <code class={css['digest']}>{digest}</code>
        </p>
      </section>
    </div>
  );
}

export function Requirements({ requires: { secrets, agents } }: { requires: ItemRequirements }) {
  return (
    <section class={page['part']}>
      <h2>{words.needs}</h2>
      {secrets.length === 0 && agents.length === 0 && <p class="muted">{words.needsNothing}</p>}
      {secrets.length > 0 && (
        <>
          <p>{words.needsSecrets}</p>
          <ul class={css['list']}>
            {secrets.map((name) => (
              <li key={name}>
                <code>{name}</code>
              </li>
            ))}
          </ul>
        </>
      )}
      {agents.length > 0 && (
        <>
          <p>{words.needsAgents}</p>
          <ul class={css['list']}>
            {agents.map(({ agent, agent_id: id, version }) => (
              <li key={`${id} ${version}`}>
                {agent} {version !== null && <span class="muted">{versionText('agent', version)}</span>}
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

interface LinksProps {
  title: string;
  names: readonly string[];
  parameter: 'tag' | 'category';
}

/** Each leads to the items that have it too. */
function Links({ title, names, parameter }: LinksProps) {
  if (names.length === 0) return null;
  return (
    <section class={page['part']}>
      <h2>{title}</h2>
      <p class={page['facts']}>
        {[...new Set(names)].map((name) => (
          <a key={name} href={marketplaceAddress({ [parameter]: name })}>
            {name}
          </a>
        ))}
      </p>
    </section>
  );
}
