// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611291937;
export const functionsDigest = '4610230606400882abe914914db8628ea0c7a905de9f94b8a730aa286d584c29';
