/** A list that is read page by page, from the server's first page anew after each change. */
import { computed, signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';

import type { Pages } from './pages.ts';
import { cache } from './query.ts';

type Read<T> = (cursor: string | null) => Promise<Pages<T>>;

export class RecordPages<T> {
  readonly #pages = signal<Pages<T> | null>(null);
  readonly error = signal<unknown>(null);
  readonly items = computed<readonly T[]>(() => this.#pages.value?.items ?? []);
  readonly isLoaded = computed(() => this.#pages.value !== null);
  readonly hasMore = computed(() => (this.#pages.value?.next ?? null) !== null);
  /** What is shown comes from the cache, or a page is on its way. */
  readonly isReading = signal(false);
  readonly #key: readonly string[];
  readonly #read: Read<T>;

  /** @param key names the list and its filter in the cache */
  constructor(key: readonly string[], read: Read<T>) {
    this.#key = key;
    this.#read = read;
    this.#pages.value = cache.getQueryData<Pages<T>>(key) ?? null;
  }

  async reload(): Promise<void> {
    await this.#reading(async () => {
      this.#pages.value = await cache.fetchQuery({
        queryKey: this.#key,
        queryFn: () => this.#read(null),
        staleTime: 0,
      });
    });
  }

  async more(): Promise<void> {
    const shown = this.#pages.value;
    if (shown === null || shown.next === null || this.isReading.value) return;
    await this.#reading(async () => {
      const page = await this.#read(shown.next);
      // A reload meanwhile has begun the list anew.
      if (this.#pages.value === shown)
        this.#pages.value = { items: [...shown.items, ...page.items], next: page.next };
    });
  }

  async #reading(read: () => Promise<void>): Promise<void> {
    this.isReading.value = true;
    try {
      await read();
      this.error.value = null;
    } catch (error) {
      this.error.value = error;
    } finally {
      this.isReading.value = false;
    }
  }
}

/** @param read may change with each drawing; the one that belongs to the key is used */
export function usePages<T>(key: readonly string[], read: Read<T>): RecordPages<T> {
  const list = useMemo(() => new RecordPages(key, read), [JSON.stringify(key)]);
  useEffect(() => void list.reload(), [list]);
  return list;
}
