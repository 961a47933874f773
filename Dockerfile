# syntax=docker/dockerfile:1
FROM python:3.12.12-slim-bookworm AS build
WORKDIR /src
COPY pyproject.toml LICENSE README.md deploy/requirements.lock ./
COPY mockserver mockserver
COPY scenarios scenarios
COPY docs docs
RUN python -m venv /opt/mockserver \
    && /opt/mockserver/bin/python -m pip install --quiet --no-cache-dir --require-hashes -r requirements.lock \
    && /opt/mockserver/bin/python -m pip wheel --quiet --no-cache-dir --no-deps --wheel-dir /wheel . \
    && /opt/mockserver/bin/python -m pip install --quiet --no-cache-dir --no-deps /wheel/payfurl_mockserver-*.whl \
    && mkdir -p /scenarios /data

FROM python:3.12.12-slim-bookworm
ARG VERSION=dev
LABEL org.opencontainers.image.title="payfurl-mockserver" \
      org.opencontainers.image.description="A local, stateful sandbox of the payFURL payments API; unofficial, not affiliated" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="$VERSION"
COPY --from=build /opt/mockserver /opt/mockserver
COPY --from=build --chown=65532:65532 /data /data
COPY --from=build /scenarios /scenarios
# Nothing is written outside /data, so the root file system may be read-only.
ENV PATH=/opt/mockserver/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    MOCKSERVER_HOST=0.0.0.0 \
    MOCKSERVER_SCENARIO=/scenarios \
    MOCKSERVER_DATA_DIR=/data
USER 65532:65532
VOLUME /data
EXPOSE 4111 5001
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=5s --start-period=10s --retries=5 CMD ["mockserver", "healthcheck"]
ENTRYPOINT ["mockserver"]
