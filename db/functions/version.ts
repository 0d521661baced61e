// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611230237;
export const functionsDigest = '9b9ef66cfa9d6fc7b7e54afd5d1fe5e9f19733f1befeab6b2e0a9af874e49381';
