// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611232153;
export const functionsDigest = 'cb868d89f01465776aa5d5c8a10896ff1c287c25287e5a5da2352505a796c2bd';
