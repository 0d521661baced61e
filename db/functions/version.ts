// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611230152;
export const functionsDigest = '7f7487eb15ffd5d186e2f42e8f69ad0d0eecf9998b3a7f58e4563225da6b895d';
