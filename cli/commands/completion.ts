/** Completion of commands and flags in the shell. The shell asks `cadenza __complete`. */
import { argument, command } from '../core/command.ts';
import { usageError } from '../core/errors.ts';

const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `_cadenza() {
  local IFS=$'\\n'
  COMPREPLY=($(cadenza __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
}
complete -o default -F _cadenza cadenza
`,
  zsh: `#compdef cadenza
_cadenza() {
  local -a found
  local line
  while IFS=$'\\t' read -r line brief; do
    found+=("\${line//:/\\\\:}:$brief")
  done < <(cadenza __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  _describe cadenza found || _files
}
compdef _cadenza cadenza
`,
  fish: `function _cadenza
  cadenza __complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null
end
complete -c cadenza -f -a '(_cadenza)'
`,
};

export const completionCommand = command({
  brief: 'Print the completion script of a shell',
  details:
    'For bash: source <(cadenza completion bash), for example in ~/.bashrc. For zsh: the same in ~/.zshrc ' +
    'after compinit. For fish: cadenza completion fish > ~/.config/fish/completions/cadenza.fish',
  arguments: [argument('SHELL', 'bash, zsh or fish')],
  hasData: false,
  run: async (cli, _flags, shell) => {
    const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
    if (script === undefined) throw usageError(`There is no completion for ${shell}: use bash, zsh or fish.`);
    cli.out.raw(script);
  },
});
