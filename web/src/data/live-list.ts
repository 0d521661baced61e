/** A list on the screen: read page by page, and kept current by the records that events name. */
import { computed, signal } from '@preact/signals';

import { ApiError } from '../../../client/index.ts';
import { onChange, onReconnect, type Change } from './live.ts';
import { withoutRecord, withPage, withRecord, type ListRules, type Pages } from './pages.ts';
import { cache } from './query.ts';

export interface ListSource<T> extends ListRules<T> {
  /** Names the list and its filter in the cache. */
  key: readonly string[];
  /** Kind of record that events name; without it, nothing tells of changes. */
  kind?: Change['kind'];
  read: (cursor: string | null) => Promise<Pages<T>>;
  /** @throws ApiError 404 if the record is gone */
  readOne: (id: string) => Promise<T>;
  /** The server alone can tell whether a record matches, such as by a text search. */
  matchedByServer: boolean;
}

/** When more records change at once, the first page is read instead of each of them. */
const MOST_SINGLE_READS = 8;
const CROWD_PAUSE_MS = 1_000;

export class LiveList<T extends { id: string }> {
  readonly #pages = signal<Pages<T> | null>(null);
  readonly error = signal<unknown>(null);
  readonly items = computed<readonly T[]>(() => this.#pages.value?.items ?? []);
  /** False until the first page is there. */
  readonly isLoaded = computed(() => this.#pages.value !== null);
  readonly hasMore = computed(() => (this.#pages.value?.next ?? null) !== null);
  /** What is shown comes from the cache, or is being read anew. */
  readonly isReading = signal(false);
  readonly #source: ListSource<T>;
  #loadingMore = false;
  #reading = 0;
  #isCrowded = false;
  /** How often the first page was asked for. */
  #asked = 0;
  #reload: Promise<void> | null = null;
  /** The last reading of each record: the answer of an earlier one says less. */
  readonly #latest = new Map<string, number>();

  constructor(source: ListSource<T>) {
    this.#source = source;
    this.#pages.value = cache.getQueryData<Pages<T>>(source.key) ?? null;
  }

  /** Reads the list and follows its records. @returns what ends that */
  open(): () => void {
    void this.reload();
    const ends = [
      onChange((change) => {
        if (change.kind === this.#source.kind) void this.#refresh(change);
      }),
      onReconnect(() => void this.reload()),
    ];
    return () => {
      for (const end of ends) end();
    };
  }

  /** Reads the first page. A page that was asked for before this call may lack what it is called for. */
  reload(): Promise<void> {
    this.#asked += 1;
    this.#reload ??= this.#readFirst().finally(() => (this.#reload = null));
    return this.#reload;
  }

  async #readFirst(): Promise<void> {
    const { key, read } = this.#source;
    this.isReading.value = true;
    for (let asked = 0; asked < this.#asked;) {
      asked = this.#asked;
      try {
        const first = await cache.fetchQuery({
          queryKey: [...key, 'first page'],
          queryFn: () => read(null),
          staleTime: 0,
        });
        this.#set(first);
        this.error.value = null;
      } catch (error) {
        this.error.value = error;
      }
    }
    this.isReading.value = false;
  }

  async more(): Promise<void> {
    if (this.#loadingMore) return;
    this.#loadingMore = true;
    try {
      for (let isRead = false; !isRead;) {
        const next = this.#pages.value?.next ?? null;
        if (next === null) break;
        const page = await this.#source.read(next);
        // A reload meanwhile has begun the list anew: what was asked for since is read after that one.
        isRead = this.#pages.value?.next === next;
        if (isRead && this.#pages.value !== null) this.#set(withPage(this.#pages.value, page));
      }
      this.error.value = null;
    } catch (error) {
      this.error.value = error;
    } finally {
      this.#loadingMore = false;
    }
  }

  /** Puts a record that an answer has brought into the list. */
  put(record: T): void {
    if (this.#pages.value !== null) this.#set(withRecord(this.#pages.value, record, this.#source));
  }

  async #refresh({ kind, id }: Change): Promise<void> {
    if (this.#isCrowded) return;
    if (this.#source.matchedByServer || this.#reading >= MOST_SINGLE_READS) {
      this.#isCrowded = true;
      await new Promise((resolve) => setTimeout(resolve, this.#reading > 0 ? CROWD_PAUSE_MS : 0));
      this.#isCrowded = false;
      await this.reload();
      return;
    }
    this.#reading += 1;
    const turn = (this.#latest.get(id) ?? 0) + 1;
    this.#latest.set(id, turn);
    try {
      const record = await this.#source.readOne(id);
      if (this.#latest.get(id) !== turn) return;
      cache.setQueryData([kind, id], record);
      this.put(record);
    } catch (error) {
      const isGone = error instanceof ApiError && error.status === 404;
      if (isGone && this.#pages.value !== null) this.#set(withoutRecord(this.#pages.value, id));
    } finally {
      this.#reading -= 1;
      if (this.#latest.get(id) === turn) this.#latest.delete(id);
    }
  }

  #set(pages: Pages<T>): void {
    this.#pages.value = pages;
    cache.setQueryData(this.#source.key, pages);
  }
}
