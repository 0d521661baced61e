import { describe, expect, test } from '@jest/globals';
import { Places, type Checkpoint } from '../../../domain/runs/retry-place.ts';

const set = { set: { a: 1 } };
const tasks = (...names: string[]) => names.map((name) => ({ [name]: set }));
/** A list whose task number `index` is under way. */
const at = (index: number, child: object = {}) => ({ index, data: null, child: { raw: null, ...child } });
const stateAt = (child: object): Checkpoint => ({ scope: {}, root: { raw: null, list: at(0, child) } });
const indexIn = (list: unknown) => (list as { index: number }).index;

describe('the place of a retry in another revision', () => {
  test('is found in the tasks for an event', () => {
    const foreach = at(0);
    const listen = (...names: string[]) => ({
      do: [{ wait: { listen: { to: { one: {} } }, foreach: { do: tasks(...names) } } }],
    });
    const places = new Places(stateAt({ listen: { list: foreach } }), listen('a', 'b'), listen('new', 'a'));
    expect(indexIn(foreach)).toBe(1);
    expect(places.find('/do/0/wait/foreach/do/1/a').frame).toBe(foreach.child);
  });

  test('is found in the tasks for a message that a call receives', () => {
    const foreach = at(1);
    const call = (...names: string[]) => ({
      do: [{ read: { call: 'asyncapi', with: { subscription: { foreach: { do: tasks(...names) } } } } }],
    });
    new Places(stateAt({ loop: { index: 0, list: foreach } }), call('a', 'b'), call('new', 'a', 'b'));
    expect(indexIn(foreach)).toBe(2);
  });

  test('moves with the tasks beside it that it takes over', () => {
    const state = () => stateAt({ list: at(1) });
    const group = (...names: string[]) => ({ group: { do: tasks(...names) } });
    const places = new Places(
      state(),
      { do: [group('a', 'b')] },
      { do: [...tasks('new'), group('new', 'a', 'b')] },
    );
    expect(places.now('/do/0/group/do/0/a')).toBe('/do/1/group/do/1/a');
    expect(places.now('/do/0/group/do/0/a/try/0/inner')).toBe('/do/1/group/do/1/a/try/0/inner');
    expect(places.now('/do/0/group')).toBe('/do/1/group');
    expect(places.now('/use/functions/f')).toBe('/use/functions/f');
  });

  test.each([
    ['lies before it', ['ask', 'pay'], 1, ['ask', 'pay'], '/do/0/ask', false],
    ['is that place', ['ask', 'pay'], 0, ['ask', 'pay'], '/do/0/ask', true],
    ['follows it', ['pay', 'ask'], 0, ['pay', 'ask'], '/do/1/ask/try/0/inner', true],
    ['followed it, and comes before it now', ['pay', 'ask'], 0, ['ask', 'pay'], '/do/1/ask', false],
    ['followed it, and is there no more', ['pay', 'ask'], 0, ['pay'], '/do/1/ask', false],
    ['was removed by an earlier retry', ['pay', 'other'], 0, ['pay', 'other'], '/do/0/ask', false],
  ])('shows whether the run comes again to a task that %s', (_case, old, index, now, task, comes) => {
    const state = { scope: {}, root: { raw: null, list: at(index) } };
    const places = new Places(state, { do: tasks(...old) }, { do: tasks(...now) });
    expect(places.comesTo(task, null)).toBe(comes);
  });

  test('is refused if extensions are under way and have changed', () => {
    const extended = (...names: string[]) => ({
      use: { extensions: names.map((name) => ({ [name]: { extend: 'set', after: tasks('note') } })) },
      do: tasks('a'),
    });
    const state = () => stateAt({ extensions: [{ outcome: { output: 1 }, after: at(0) }] });
    expect(() => new Places(state(), extended('one', 'two'), extended('two'))).toThrow(
      'its extensions have changed',
    );
    expect(() => new Places(state(), extended('one'), extended('one'))).not.toThrow();
    expect(() => new Places(stateAt({}), extended('one'), extended())).not.toThrow();
  });
});

describe('a map', () => {
  const group = { group: { do: tasks('a', 'b') } };
  const mapped = { do: [{ each: { call: 'map', with: { in: [1, 2], do: [group] } } }] };

  test('has as many places as items under way, also if only one of them is deep in its tasks', () => {
    const open = { 0: { list: at(0, { list: at(1) }) }, 1: { list: at(0) } };
    const places = new Places(stateAt({ map: { next: 2, open } }), mapped, mapped);
    expect(() => places.only).toThrow('continues with 2 tasks at the same time');
  });

  test('does not tell which item an earlier visit of a task was for', () => {
    const inner = at(1);
    const open = { 1: { list: at(0, { list: inner }) } };
    const places = new Places(stateAt({ map: { next: 2, open } }), mapped, mapped);
    expect(places.find('/do/0/each/with/do/0/group/do/0/a')).toMatchObject({
      frame: undefined,
      list: { isOfItem: true },
    });
    expect(places.find('/do/0/each').list.isOfItem).toBe(false);
    expect(places.only.frame).toBe(inner.child);
  });
});
