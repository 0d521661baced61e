/** What an erasure would do, or has done. */
import type { ComponentChildren } from 'preact';

import type { Erasure } from '../../../../client/index.ts';
import { userAddress } from '../../app/routes.ts';
import { DocumentedText } from '../../ui/documented-text.tsx';
import { exactTime } from '../../ui/time.ts';
import { eraseWords as words } from './erase-words.ts';

/** More are on the user's page. */
const MAX_PLACES = 20;

interface Props {
  report: Erasure;
  /** On the user's page: with all places that the server names. */
  isWhole?: boolean;
  /** Called when somebody follows the link to the user's page. */
  onLeave?: () => void;
}

export function EraseReport({ report, isWhole = false, onLeave }: Props) {
  const { removed, kept } = report;
  const owned = Object.entries(report.owned).map(([kind, { count }]) => words.counted(kind, count));
  // What is owned is listed by itself.
  const obstacles = report.obstacles.filter(({ code }) => code !== 'owns_objects');
  return (
    <dl>
      {obstacles.length > 0 && (
        <Part title={words.obstacles}>
          {obstacles.map(({ code, detail }) => (
            <dd key={code}>
              <span role="alert">{detail}</span>
            </dd>
          ))}
        </Part>
      )}
      {owned.length > 0 && (
        <Part title={words.owned}>
          <dd>
            <span role="alert">{owned.join(', ')}</span>
          </dd>
          <dd>
            <a href={userAddress(report.user_id)} onClick={onLeave}>
              {words.toUser}
            </a>
          </dd>
        </Part>
      )}
      <Part title={words.removed}>
        <dd>{listed(removed)}</dd>
      </Part>
      <TextsReport report={report} isWhole={isWhole} />
      <Part title={words.kept}>
        {kept.map(({ kind, count, why }) => (
          <dd key={kind}>
            {words.counted(kind, count)}: <DocumentedText text={why} />
          </dd>
        ))}
      </Part>
    </dl>
  );
}

function TextsReport({ report: { texts, histories }, isWhole }: { report: Erasure; isWhole: boolean }) {
  const maxPlaces = isWhole ? Infinity : MAX_PLACES;
  const { removed, waiting, refused, refusal, kept, kept_until: until } = histories;
  const day = until === null ? null : exactTime(until);
  return (
    <>
      <Part title={texts.status === 'stopped' ? words.foundUpTo : words.found}>
        <dd>{listed(texts.found)}</dd>
      </Part>
      {Object.keys(texts.replaced).length > 0 && (
        <Part title={words.replaced}>
          <dd>{listed(texts.replaced)}</dd>
        </Part>
      )}
      {texts.stays.length > 0 && (
        <Part title={words.stays}>
          {texts.stays.map(({ kind, count, why }) => (
            <dd key={`${kind} ${why}`}>
              {words.counted(kind, count)}: <DocumentedText text={why} />
            </dd>
          ))}
        </Part>
      )}
      {texts.places.length > 0 && (
        <Part title={words.places}>
          {texts.places.slice(0, maxPlaces).map(({ kind, id, why }) => (
            <dd key={`${kind} ${id} ${why}`}>
              {words.counted(kind, null)} <code>{id}</code>
            </dd>
          ))}
          {texts.places.length > maxPlaces && <dd>{words.morePlaces}</dd>}
        </Part>
      )}
      <Part title={words.histories}>
        <dd>{words.historiesAre(removed, waiting, kept, day)}</dd>
        {refused > 0 && (
          <dd>
            <span role="alert">{words.historiesRefused(refused, refusal)}</span>
            {!isWhole && ` ${words.refusedRetry}`}
          </dd>
        )}
      </Part>
    </>
  );
}

function Part({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <>
      <dt>{title}</dt>
      {children}
    </>
  );
}

function listed(counts: Record<string, number>): string {
  const kinds = Object.entries(counts).map(([kind, count]) => words.counted(kind, count));
  return kinds.length === 0 ? words.nothing : kinds.join(', ');
}
