/** Starts Swagger UI on this server's OpenAPI document. */
/* global SwaggerUIBundle */

/** Searches paths, names and summaries of operations; Swagger UI's own filter knows tags and paths only. */
const search = () => ({
  fn: {
    opsFilter(groups, phrase) {
      const wanted = phrase.trim().toLowerCase();
      const matches = (operation) =>
        [
          `${operation.get('method')} ${operation.get('path')}`,
          operation.getIn(['operation', 'operationId']),
          operation.getIn(['operation', 'summary']),
        ].some((text) => String(text).toLowerCase().includes(wanted));
      return groups
        .map((group, tag) =>
          tag.toLowerCase().includes(wanted)
            ? group
            : group.update('operations', (operations) => operations.filter(matches)),
        )
        .filter((group) => group.get('operations').size > 0);
    },
  },
});

/** Follows the system's colour scheme, also when it changes. */
function followScheme() {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const apply = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
  dark.addEventListener('change', apply);
  apply();
}

/** Says whose session "Try it out" uses: that of the console, in this browser. */
async function showUser() {
  const place = document.getElementById('user');
  const response = await fetch('/console/session');
  const user = response.status === 200 ? await response.json() : null;
  place.textContent = user
    ? `Signed in as ${user.username}: requests of this page are yours.`
    : 'Not signed in: log in to the console, or press Authorize, to try requests.';
}

async function start() {
  const response = await fetch('/openapi.json');
  const spec = await response.json();
  // Requests go to the address of this page, whatever name the server has for itself.
  delete spec.servers;
  SwaggerUIBundle({
    spec,
    dom_id: '#reference',
    plugins: [search],
    filter: true,
    deepLinking: true,
    docExpansion: 'list',
    displayOperationId: false,
    displayRequestDuration: true,
    tryItOutEnabled: false,
    validatorUrl: null,
    withCredentials: true,
    // The list of all shapes stays folded: drawing it takes seconds.
    defaultModelsExpandDepth: 0,
  });
}

followScheme();
void start();
void showUser();
