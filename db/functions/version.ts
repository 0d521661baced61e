// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611230933;
export const functionsDigest = '5ac1ba3f1733fc52038ae41d99c6ea9d968fe0086285bcf68c6a5429232469e3';
