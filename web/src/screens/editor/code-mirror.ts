/** CodeMirror, set up for definitions. */
import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
  type CompletionContext,
  type CompletionResult,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { json } from '@codemirror/lang-json';
import {
  bracketMatching,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  indentOnInput,
  type LanguageSupport,
  syntaxHighlighting,
} from '@codemirror/language';
import { lintGutter, setDiagnostics, type Diagnostic } from '@codemirror/lint';
import { Compartment, EditorState, Prec, StateEffect } from '@codemirror/state';
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from '@codemirror/view';
import { tags } from '@lezer/highlight';

import type { Format, Marked } from './checks.ts';
import { completionsAt, secretsAt, type Registry } from './completions.ts';
import { cursorInJson } from './cursor-json.ts';
import { cursorInYaml } from './cursor-yaml.ts';
import { words } from './words.ts';

interface Setup {
  text: string;
  format: Format;
  onEdit: (text: string) => void;
  onCursor: (offset: number) => void;
  onRun: () => void;
  onNextProblem: () => void;
  onLayOut: () => void;
  /** The last definition that could be read. */
  definition: () => unknown;
  registry: () => Registry;
}

export interface TextView {
  /** Shows a text that did not come from here. */
  show: (text: string, format: Format) => void;
  mark: (problems: readonly Marked[]) => void;
  goTo: (offset: number) => void;
  close: () => void;
}

/** The grammar of YAML is loaded when it is needed. */
async function languageOf(format: Format): Promise<LanguageSupport> {
  return format === 'json' ? json() : (await import('@codemirror/lang-yaml')).yaml();
}

/** Search and replace come after the text. */
async function search() {
  const { highlightSelectionMatches, searchKeymap } = await import('@codemirror/search');
  return [keymap.of(searchKeymap), highlightSelectionMatches()];
}

const SEVERITIES = { error: 'error', unsupported: 'warning', warning: 'info' } as const;

export function createView(root: ShadowRoot, setup: Setup): TextView {
  const language = new Compartment();
  let { format } = setup;
  let isOpen = true;
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: setup.text,
      extensions: [
        language.of([]),
        keys(setup),
        autocompletion({ override: [(context) => complete(context, format, setup)], icons: false }),
        ...appearance(),
        EditorView.domEventHandlers({ beforeinput: replaceSelected }),
        EditorView.updateListener.of(({ docChanged, selectionSet, state, transactions }) => {
          const isOurs = transactions.some((transaction) => transaction.isUserEvent('show'));
          if (docChanged && !isOurs) setup.onEdit(state.doc.toString());
          if (docChanged || selectionSet) setup.onCursor(state.selection.main.head);
        }),
      ],
    }),
  });
  const useLanguage = async () => {
    const wanted = format;
    const support = await languageOf(wanted);
    if (isOpen && wanted === format) view.dispatch({ effects: language.reconfigure(support) });
  };
  void useLanguage();
  void search().then(
    (extension) => isOpen && view.dispatch({ effects: StateEffect.appendConfig.of(extension) }),
    // The text can be edited without it.
    () => undefined,
  );
  return {
    show(text, next) {
      if (next !== format) {
        format = next;
        void useLanguage();
      }
      if (text === view.state.doc.toString()) return;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text }, userEvent: 'show' });
    },
    mark: (problems) => view.dispatch(setDiagnostics(view.state, diagnosticsOf(problems, view))),
    goTo(offset) {
      const anchor = Math.min(offset, view.state.doc.length);
      view.dispatch({
        selection: { anchor },
        effects: EditorView.scrollIntoView(anchor, { y: 'center' }),
      });
      view.focus();
    },
    close() {
      isOpen = false;
      view.destroy();
    },
  };
}

function diagnosticsOf(problems: readonly Marked[], { state }: EditorView): Diagnostic[] {
  const end = state.doc.length;
  return problems.map(({ from, to, message, severity }) => ({
    from: Math.min(from, end),
    to: Math.min(Math.max(to, from), end),
    message,
    severity: SEVERITIES[severity],
  }));
}

function keys({ onRun, onNextProblem, onLayOut }: Setup) {
  const command = (act: () => void) => () => {
    act();
    return true;
  };
  return [
    Prec.highest(
      keymap.of([
        { key: 'Mod-Enter', run: command(onRun) },
        { key: 'F8', run: command(onNextProblem) },
        { key: 'Alt-Shift-f', run: command(onLayOut) },
      ]),
    ),
    keymap.of([
      ...closeBracketsKeymap,
      ...defaultKeymap,
      ...historyKeymap,
      ...foldKeymap,
      ...completionKeymap,
      // Escape and then Tab leaves the text, as CodeMirror documents.
      indentWithTab,
    ]),
  ];
}

function complete(context: CompletionContext, format: Format, setup: Setup): CompletionResult | null {
  const text = context.state.doc.toString();
  const line = context.state.doc.lineAt(context.pos);
  const before = text.slice(line.from, context.pos);
  const [definition, registry] = [setup.definition(), setup.registry()];
  const secrets = secretsAt(before, definition, registry);
  if (secrets !== null)
    return {
      from: context.pos - secrets.typed.length,
      options: secrets.names.map((label) => ({ label, detail: words.completion.secret })),
    };
  const cursor = (format === 'json' ? cursorInJson : cursorInYaml)(text, context.pos);
  if (cursor === null || (cursor.typed === '' && !context.explicit && !/["\s:-]$/.test(before))) return null;
  const options = completionsAt(cursor, definition, registry);
  if (options.length === 0) return null;
  const after = text.slice(cursor.to);
  return {
    from: cursor.from,
    to: cursor.to,
    // The label is matched against what is typed, which in JSON begins with a quotation mark.
    filter: false,
    options: options
      .filter(({ label }) => label.toLowerCase().startsWith(cursor.typed.toLowerCase()))
      .map(({ label, detail, isName }) => ({
        label,
        detail,
        apply: written(label, isName, format, after),
      })),
  };
}

function written(label: string, isName: boolean, format: Format, after: string): string {
  const quoted = format === 'json' ? JSON.stringify(label) : label;
  return isName && !/^\s*:/.test(after) ? `${quoted}: ` : quoted;
}

/**
 * Typing over a selection: Chromium would give the new text the colour of the old one as an inline style,
 * which the page's policy refuses and reports.
 */
function replaceSelected(event: InputEvent, view: EditorView): boolean {
  const { data } = event;
  const { from, to, empty } = view.state.selection.main;
  if (event.inputType !== 'insertText' || data === null || empty || view.composing) return false;
  const insert = () =>
    view.state.update(view.state.replaceSelection(data), { userEvent: 'input.type', scrollIntoView: true });
  const handlers = view.state.facet(EditorView.inputHandler);
  if (!handlers.some((handle) => handle(view, from, to, data, insert))) view.dispatch(insert());
  event.preventDefault();
  return true;
}

function appearance() {
  return [
    lineNumbers(),
    foldGutter(),
    lintGutter(),
    history(),
    drawSelection(),
    indentOnInput(),
    bracketMatching(),
    closeBrackets(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    EditorState.tabSize.of(2),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ 'aria-label': `${words.text}. ${words.leave}`, tabindex: '0' }),
    syntaxHighlighting(COLOURS),
    EditorView.theme(THEME),
  ];
}

const COLOURS = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent)' },
  { tag: [tags.string, tags.special(tags.string), tags.content], color: 'var(--completed)' },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: 'var(--running)' },
  { tag: [tags.comment, tags.meta], color: 'var(--muted)' },
  { tag: [tags.punctuation, tags.separator, tags.brace, tags.squareBracket], color: 'var(--text)' },
]);

const THEME = {
  '&': { height: '100%', color: 'var(--text)', backgroundColor: 'var(--surface)', fontSize: '13px' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-2px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '18px' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { border: '0', backgroundColor: 'var(--surface)', color: 'var(--muted)' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--accent-soft)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'color-mix(in srgb, var(--accent) 30%, var(--surface))',
  },
  '.cm-tooltip': {
    border: '1px solid var(--line)',
    backgroundColor: 'var(--surface)',
    color: 'var(--text)',
  },
  '.cm-tooltip-autocomplete ul li[aria-selected]': {
    backgroundColor: 'var(--accent-solid)',
    color: 'var(--on-solid)',
  },
  '.cm-completionDetail': { color: 'inherit', fontStyle: 'normal', marginLeft: '12px' },
  '.cm-panels': { backgroundColor: 'var(--sunken)', color: 'var(--text)' },
  '.cm-textfield': { backgroundColor: 'var(--surface)', color: 'var(--text)', fontSize: '13px' },
  '.cm-button': { backgroundImage: 'none', backgroundColor: 'var(--surface)', color: 'var(--text)' },
  '.cm-foldPlaceholder': { border: '0', backgroundColor: 'transparent', color: 'var(--muted)' },
};
