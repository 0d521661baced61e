import { isMac, keyLines, keyName } from './key-names.ts';
import { shortcutsOf } from './keys.ts';
import css from './shell.module.css';
import { words } from './words.ts';

/** The keys of the screen as it is now, and those that work everywhere. */
export function KeyList() {
  return (
    <div class={css['keys']}>
      {(['screen', 'everywhere'] as const).map((reach) => {
        const lines = keyLines(shortcutsOf(reach));
        return (
          lines.length > 0 && (
            <section key={reach}>
              <h3>{words.reaches[reach]}</h3>
              <dl>
                {lines.map(({ keys, text }) => (
                  <div key={text}>
                    <dt>
                      {keys.map((key) => (
                        <kbd key={key}>{keyName(key, isMac)}</kbd>
                      ))}
                    </dt>
                    <dd>{text}</dd>
                  </div>
                ))}
              </dl>
            </section>
          )
        );
      })}
    </div>
  );
}
