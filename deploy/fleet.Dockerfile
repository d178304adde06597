# Both programs in one image: `windlass` runs sessions, `windlass-fleet` is what the containers start.
FROM debian:bookworm AS build
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends build-essential ca-certificates curl
ENV CARGO_HOME=/opt/cargo RUSTUP_HOME=/opt/rustup PATH=/opt/cargo/bin:$PATH
RUN curl --proto "=https" --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --profile minimal
WORKDIR /source
COPY . .
RUN cargo build --locked --release --package windlass --package windlass-fleet

FROM debian:bookworm-slim
# A sandbox, git, and certificates for model servers.
RUN apt-get update -qq \
    && apt-get install -y -qq --no-install-recommends bubblewrap ca-certificates git \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /source/target/release/windlass /source/target/release/windlass-fleet /usr/local/bin/
RUN useradd --create-home windlass && install -d -o windlass /var/lib/windlass
USER windlass
ENTRYPOINT ["windlass-fleet"]
