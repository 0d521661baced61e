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
  #pagesUnderWay = 0;
  /** Records that came while a page was under way, and may be newer; null for one that is gone. */
  readonly #newer = new Map<string, T | null>();

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
        const queryKey = [...key, 'first page'];
        await this.#takePage(
          () => cache.fetchQuery({ queryKey, queryFn: () => read(null), staleTime: 0 }),
          (first) => first,
        );
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
        await this.#takePage(
          () => this.#source.read(next),
          (page) => {
            const pages = this.#pages.value;
            // A reload meanwhile has begun the list anew: what was asked for since is read after that one.
            isRead = pages?.next === next;
            return isRead && pages !== null ? withPage(pages, page) : pages;
          },
        );
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
    this.#take(record.id, record);
  }

  #take(id: string, record: T | null): void {
    if (this.#pagesUnderWay > 0) this.#newer.set(id, record);
    if (this.#pages.value !== null) this.#set(this.#withNewer(this.#pages.value, id, record));
  }

  #withNewer(pages: Pages<T>, id: string, record: T | null): Pages<T> {
    return record === null ? withoutRecord(pages, id) : withRecord(pages, record, this.#source);
  }

  async #takePage(read: () => Promise<Pages<T>>, join: (page: Pages<T>) => Pages<T> | null): Promise<void> {
    this.#pagesUnderWay += 1;
    try {
      let pages = join(await read());
      for (const [id, record] of this.#newer) pages &&= this.#withNewer(pages, id, record);
      if (pages !== null) this.#set(pages);
    } finally {
      this.#pagesUnderWay -= 1;
      if (this.#pagesUnderWay === 0) this.#newer.clear();
    }
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
      if (error instanceof ApiError && error.status === 404) this.#take(id, null);
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
