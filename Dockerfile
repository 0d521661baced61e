# One image for every process of Cadenza: `docker run … api`, `worker` or `migrate`.
FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --no-audit --no-fund

# The console is built with the development dependencies, which the image itself does not have.
FROM node:24-bookworm-slim AS console
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY . .
RUN node_modules/.bin/node dev/build-console.ts

FROM node:24-bookworm-slim
# Temporal's connections are checked against the system's certificates.
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/*
WORKDIR /app
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 A2A_GRPC_PORT=50051
COPY --from=dependencies /app/node_modules ./node_modules
COPY . .
COPY --from=console /app/web/dist ./web/dist
# Where a volume for backups may be mounted, which takes over the owner.
RUN mkdir /backups && chown node:node /backups
USER node
EXPOSE 3000 50051
ENTRYPOINT ["sh", "/app/docker/entrypoint.sh"]
CMD ["api"]
