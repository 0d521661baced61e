/** Pages that work without the console: no script, no outside resource. */
import { createHash } from 'node:crypto';

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 28rem; margin: 10vh auto; padding: 0 1rem; }
h1 { font-size: 1.25rem; }
label { display: block; margin: .75rem 0; }
input, select, textarea { display: block; width: 100%; box-sizing: border-box; font: inherit; }
input, select, textarea { padding: .4rem; }
button { font: inherit; padding: .45rem 1rem; margin: .5rem .5rem 0 0; }
dt { font-weight: 600; margin-top: .5rem; } dd { margin: 0; overflow-wrap: anywhere; }
form { margin-top: 1rem; } pre { white-space: pre-wrap; overflow-wrap: anywhere; }
input[type=checkbox] { display: inline; width: auto; }
.note { opacity: .8; font-size: .875rem; } .problem { color: light-dark(#b42318, #ff8f86); }
`;
const styleHash = createHash('sha256').update(STYLE).digest('base64');

/** `formTargets`: where the answer to a form may redirect to, besides this server. */
export function pageHeaders(formTargets: readonly string[] = []): Record<string, string> {
  return {
    'Cache-Control': 'no-store',
    'Content-Security-Policy':
      `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; frame-ancestors 'none'; ` +
      `form-action ${["'self'", ...formTargets].join(' ')}`,
    'X-Frame-Options': 'DENY',
    // Not no-referrer: browsers would then send `Origin: null` with our own forms.
    'Referrer-Policy': 'same-origin',
  };
}

export function page(title: string, body: string, head = ''): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">${head}
<title>${title} · Cadenza</title><style>${STYLE}</style></head>
<body><main>${body}</main></body>
</html>
`;
}
