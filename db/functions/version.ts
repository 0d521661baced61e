// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611281718;
export const functionsDigest = 'e3848397546a240bd558adfe3284324c0429bf7cfa4ec954761affba1fc0b2de';
