// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611281837;
export const functionsDigest = 'a496d5cd8748ffbeb46688cfcc990fafcfa8e3c92f2035f89b22b8300cf47c91';
