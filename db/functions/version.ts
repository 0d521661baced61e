// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611281849;
export const functionsDigest = 'c1b3da7b195e2e7fb88690bf552eed82a5d4ca5f1388df16a3fa2dd4cc364a93';
