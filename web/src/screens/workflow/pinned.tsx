/** What a revision took from elsewhere when it was saved, and runs with. */
import type { PinnedResource } from '../../../../client/index.ts';
import page from '../../ui/page.module.css';
import { words } from './pinned-words.ts';
import css from './workflow.module.css';

export function Pinned({ resources }: { resources: readonly PinnedResource[] }) {
  return (
    <section class={page['part']}>
      <h2>{words.title}</h2>
      <p class="muted">{words.help}</p>
      <ul class={css['pinned']} aria-label={words.title}>
        {resources.map(({ kind, url, digest, pointer, bytes }) => (
          <li key={`${kind} ${url} ${pointer}`}>
            <span>
              {words.kinds[kind]} <code>{url}</code>
            </span>
            <code class={css['pointer']}>
              {digest} · {words.size(bytes)} · {pointer}
            </code>
          </li>
        ))}
      </ul>
    </section>
  );
}
