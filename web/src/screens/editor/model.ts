/** A definition that is being written: its text, what is wrong with it, and what of it is saved. */
import { computed, signal } from '@preact/signals';

import { ApiError, type DefinitionProblem, type Workflow } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { isJson } from '../../data/definition-text.ts';
import { forgetText, keepText, keptText } from '../../data/kept-texts.ts';
import { cache } from '../../data/query.ts';
import { randomKey } from '../../data/random-key.ts';
import { user } from '../../data/session.ts';
import type { Checked, Format } from './checks.ts';
import { mergePatchOf } from './merge-patch.ts';
import { words } from './words.ts';
import { CheckWorker } from './worker.ts';

/** A workflow as it was read, and the tag that guards a change of it. */
export interface Base {
  workflow: Workflow;
  etag: string | null;
}

interface Shown {
  text: string;
  format: Format;
}

/** A text that can be read, with what it means. */
interface Written extends Shown {
  definition: Record<string, unknown>;
}

interface Kept extends Shown {
  name: string;
  etag: string | null;
  at: string;
}

export type Saved = 'saved' | 'unchanged' | 'conflict' | { refused: string };

/** After the last key; a check of a usual definition takes some milliseconds. */
const CHECK_PAUSE_MS = 120;
/** The server is asked about agents and workflows less often. */
const SERVER_PAUSE_MS = 700;
const KEEP_PAUSE_MS = 300;
const FORMAT_KEY = 'cadenza-editor-format';
const NEW_TEXT = {
  do: [{ greet: { set: { greeting: 'Hello, ${ .name // "world" }!' } } }],
};

export class EditorModel {
  readonly id = signal<string | null>(null);
  readonly text = signal('');
  readonly format = signal<Format>(localStorage.getItem(FORMAT_KEY) === 'yaml' ? 'yaml' : 'json');
  readonly name = signal(words.firstName);
  readonly base = signal<Base | null>(null);
  readonly isLoaded = signal(false);
  readonly loadError = signal<unknown>(null);
  readonly checked = signal<Checked | null>(null);
  /** The last definition that could be read. */
  readonly definition = signal<Record<string, unknown> | null>(null);
  readonly canCheck = signal(true);
  readonly isBusy = signal(false);
  /** For which team a new workflow is; '' for the user. */
  readonly team = signal('');
  readonly cursor = signal(0);
  /** Where the text should put its cursor. */
  readonly jump = signal<{ from: number; to: number } | null>(null);
  /** What somebody else has saved since this text was opened. */
  readonly conflict = signal<Base | null>(null);
  /** The form that starts a run is to take the focus. */
  readonly isStartAsked = signal(false);
  /** When the text was kept that came back. */
  readonly keptAt = signal<string | null>(null);
  readonly isChanged = computed(() => {
    const base = this.base.value;
    const name = base === null ? words.firstName : base.workflow.name;
    return this.text.value !== this.#savedText.value || this.name.value !== name;
  });
  readonly worker = new CheckWorker();
  readonly #userId: string;
  readonly #savedText = signal('');
  #known: DefinitionProblem[] = [];
  #sent = { content: '', key: '' };
  #timers: Record<'check' | 'server' | 'keep', ReturnType<typeof setTimeout> | undefined> = {
    check: undefined,
    server: undefined,
    keep: undefined,
  };

  constructor(userId: string, id: string | null) {
    this.#userId = userId;
    this.id.value = id;
  }

  async open(): Promise<void> {
    const id = this.id.value;
    try {
      await this.#show(id === null ? null : await this.#read(id));
      // Only this class writes the entry.
      const kept = keptText(this.#userId, id ?? 'new') as Kept | null;
      if (kept !== null && kept.text !== this.text.value) this.#bringBack(kept);
      this.loadError.value = null;
      this.isLoaded.value = true;
      await this.check();
    } catch (error) {
      this.loadError.value = error;
    }
  }

  close(): void {
    for (const timer of Object.values(this.#timers)) clearTimeout(timer);
    // After a log-out nothing may be left in the tab.
    if (this.isLoaded.value && user.value?.id === this.#userId) this.#keep();
    this.worker.close();
  }

  /** The text or the name has been changed by a person. */
  edit(change: { text?: string; name?: string }): void {
    if (change.text !== undefined) this.text.value = change.text;
    if (change.name !== undefined) this.name.value = change.name;
    this.#after('check', CHECK_PAUSE_MS, () => void this.check());
    this.#after('keep', KEEP_PAUSE_MS, () => this.#keep());
  }

  /** Checks the text as it is now. @returns null if the worker cannot */
  async check(): Promise<Checked | null> {
    clearTimeout(this.#timers.check);
    const [text, format, name] = [this.text.value, this.format.value, this.name.value];
    try {
      const checked = await this.worker.ask('check', { text, format, name, known: this.#known });
      if (text !== this.text.value || format !== this.format.value) return checked;
      this.canCheck.value = true;
      this.checked.value = checked;
      if (checked.definition !== undefined) {
        this.definition.value = checked.definition;
        this.#after('server', SERVER_PAUSE_MS, () => void this.#askServer(checked));
      }
      return checked;
    } catch {
      this.canCheck.value = false;
      return null;
    }
  }

  /** Lays the text out anew, in this language or another. @returns false if it cannot be read */
  async layOut(to: Format): Promise<boolean> {
    const text = await this.worker.ask('layOut', { text: this.text.value, from: this.format.value, to });
    if (text === null) return false;
    // The same definition in another language is no change, and that of JSON is saved without its layout.
    const isChange = this.isChanged.value || (to === 'yaml' && this.format.value === to);
    this.format.value = to;
    this.text.value = text;
    if (!isChange) this.#savedText.value = text;
    localStorage.setItem(FORMAT_KEY, to);
    this.edit({});
    return true;
  }

  /** Whether the text has comments, which JSON cannot have. */
  async hasComments(): Promise<boolean> {
    return this.format.value === 'yaml' && this.worker.ask('hasComments', { text: this.text.value });
  }

  /** Takes the text as it is for one in another language. */
  readAs(format: Format): void {
    this.format.value = format;
    localStorage.setItem(FORMAT_KEY, format);
    this.edit({});
  }

  goTo(pointer: string): void {
    const task = this.checked.value?.tasks.find((one) => one.pointer === pointer);
    if (task !== undefined) this.jump.value = { from: task.from, to: task.from };
  }

  /** Puts the cursor at the next problem, and after the last one at the first. */
  goToProblem(): void {
    const problems = this.checked.value?.problems ?? [];
    const next = problems.find(({ from }) => from > this.cursor.value) ?? problems[0];
    if (next !== undefined) this.jump.value = { from: next.from, to: next.from };
  }

  /** @param over what somebody else has saved, if this text shall replace it */
  async save(over?: Base): Promise<Saved> {
    if (this.isBusy.value) return 'unchanged';
    this.isBusy.value = true;
    try {
      // Somebody may type on meanwhile.
      const [text, format, name] = [this.text.value, this.format.value, this.name.value.trim()];
      const checked = await this.check();
      if (checked?.definition === undefined) return { refused: words.unreadable };
      if (name === '') return { refused: words.nameMissing };
      const written = { text, format, definition: checked.definition };
      return await this.#send(name, written, over ?? this.base.value);
    } finally {
      this.isBusy.value = false;
    }
  }

  /** Forgets the text, and shows a state of the workflow. */
  async take(base: Base | null): Promise<void> {
    await this.#show(base);
    this.conflict.value = null;
    this.#forget();
    await this.check();
  }

  async discard(): Promise<void> {
    const id = this.id.value;
    await this.take(id === null ? null : await this.#read(id));
  }

  /** A revision in a language: as YAML it is what its author wrote, if that was YAML. */
  async textOfRevision(id: string, revision: number, format: Format): Promise<string> {
    if (format === 'yaml') {
      const source = await this.#sourceOf(id, revision);
      if (!isJson(source)) return source;
    }
    const { definition } = await client.call('getWorkflowRevision', { path: { id, revision } });
    return this.#write(definition, format);
  }

  async #send(name: string, written: Written, base: Base | null): Promise<Saved> {
    const { text, format } = written;
    const id = this.id.value;
    if (base === null || id === null) {
      const team = this.team.value === '' ? {} : { team_id: this.team.value };
      const body = { name, definition: format === 'yaml' ? text : written.definition, ...team };
      // The same text sent again, such as after a lost answer, is the same workflow.
      const content = JSON.stringify(body);
      if (this.#sent.content !== content) this.#sent = { content, key: randomKey() };
      const created = await client.tagged('createWorkflow', { body, idempotencyKey: this.#sent.key });
      this.#saved({ workflow: created.record, etag: created.etag }, text);
      return 'saved';
    }
    const { change, lost } = this.#changeOf(written, base);
    if (lost !== undefined) return { refused: words.nullLost(lost) };
    const body = {
      // The server looks again at what it refused: an agent may be there by now.
      ...(isEmpty(change) && base.workflow.valid ? {} : { definition: change }),
      ...(name === base.workflow.name ? {} : { name }),
    };
    if (Object.keys(body).length === 0) {
      this.#saved(base, text);
      return 'unchanged';
    }
    try {
      const headers = base.etag === null ? {} : { 'if-match': base.etag };
      const updated = await client.tagged('updateWorkflow', { path: { id }, body, headers });
      this.#saved({ workflow: updated.record, etag: updated.etag }, text);
      return 'saved';
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 412) throw error;
      this.conflict.value = await this.#read(id);
      return 'conflict';
    }
  }

  /** What to send of a definition: the text of YAML, whose comments count too, or a merge patch. */
  #changeOf(
    { text, format, definition }: Written,
    base: Base,
  ): { change: Record<string, unknown> | string; lost?: string | undefined } {
    if (format === 'yaml') {
      // The server keeps the text that it has.
      const isSame = base === this.base.value && text === this.#savedText.value;
      return { change: isSame ? {} : text };
    }
    const { patch, lost } = mergePatchOf(base.workflow.definition, definition);
    return { change: patch, lost: lost[0] };
  }

  #saved(base: Base, text: string): void {
    this.#forget();
    this.base.value = base;
    this.id.value = base.workflow.id;
    this.name.value = base.workflow.name;
    this.conflict.value = null;
    // Somebody may have typed on meanwhile.
    this.#savedText.value = text;
    cache.setQueryData(['workflow', base.workflow.id], base.workflow);
  }

  async #read(id: string): Promise<Base> {
    const { record, etag } = await client.tagged('getWorkflow', { path: { id } });
    return { workflow: record, etag };
  }

  /** Shows what is saved, or a new workflow. */
  async #show(base: Base | null): Promise<void> {
    const { text, format } =
      base === null
        ? { text: await this.#write(NEW_TEXT, this.format.value), format: this.format.value }
        : await this.#shownOf(base);
    this.base.value = base;
    this.format.value = format;
    this.text.value = text;
    this.#savedText.value = text;
    this.name.value = base?.workflow.name ?? words.firstName;
  }

  /** What somebody wrote as YAML is shown as it is; anything else in the language that one prefers. */
  async #shownOf({ workflow: { id, revision, definition } }: Base): Promise<Shown> {
    const [source, generated] = await Promise.all([
      this.#sourceOf(id, revision),
      // Without the worker, one can still read.
      this.#write(definition, 'yaml').catch(() => null),
    ]);
    const format = this.format.value;
    const isWritten = source !== generated && !isJson(source);
    if (isWritten) return { text: source, format: 'yaml' };
    if (format === 'yaml') return { text: generated ?? source, format };
    return { text: await this.#write(definition, format), format };
  }

  /** The text of a revision as it was sent; of one that was sent without, the server writes YAML. */
  #sourceOf(id: string, revision: number): Promise<string> {
    return client.call('getWorkflowText', { path: { id }, query: { revision } });
  }

  async #write(definition: unknown, format: Format): Promise<string> {
    return format === 'json'
      ? `${JSON.stringify(definition, null, 2)}\n`
      : this.worker.ask('write', { value: definition, format });
  }

  #bringBack(kept: Kept): void {
    this.text.value = kept.text;
    this.format.value = kept.format;
    this.name.value = kept.name;
    this.keptAt.value = kept.at;
    // The tag of the state that the text was written on, so that a change by others is noticed.
    if (this.base.value !== null) this.base.value = { ...this.base.value, etag: kept.etag };
  }

  #keep(): void {
    if (!this.isChanged.value) {
      forgetText(this.#userId, this.id.value ?? 'new');
      return;
    }
    const kept: Kept = {
      text: this.text.value,
      format: this.format.value,
      name: this.name.value,
      etag: this.base.value?.etag ?? null,
      at: new Date().toISOString(),
    };
    keepText(this.#userId, this.id.value ?? 'new', kept);
  }

  #forget(): void {
    clearTimeout(this.#timers.keep);
    forgetText(this.#userId, this.id.value ?? 'new');
    this.keptAt.value = null;
  }

  /** Asks for the problems that only the server can find. */
  async #askServer({ definition, problems }: Checked): Promise<void> {
    if (definition === undefined) return;
    try {
      const name = this.name.value.trim() || words.firstName;
      const found = await client.call('validateWorkflow', { body: { definition, name } });
      const isLocal = (problem: DefinitionProblem) =>
        problems.some(({ pointer, message }) => pointer === problem.pointer && message === problem.message) &&
        !this.#known.some(({ pointer, code }) => pointer === problem.pointer && code === problem.code);
      const known = found.problems.filter((problem) => !isLocal(problem));
      if (JSON.stringify(known) === JSON.stringify(this.#known)) return;
      this.#known = known;
      await this.check();
    } catch {
      // Without the server, the checks of the page remain.
    }
  }

  #after(what: 'check' | 'server' | 'keep', ms: number, act: () => void): void {
    clearTimeout(this.#timers[what]);
    this.#timers[what] = setTimeout(act, ms);
  }
}

function isEmpty(change: Record<string, unknown> | string): boolean {
  return typeof change === 'object' && Object.keys(change).length === 0;
}
