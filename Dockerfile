# One image for every service of docker-compose.yml: worker, migrate, flower and simulator differ in their command.
# 一个镜像供所有服务使用；各服务仅启动命令不同。

FROM python:3.13-slim-trixie AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
RUN python -m venv --without-pip /opt/andon
WORKDIR /src
# The pins change seldom and the code often: a layer of their own keeps the second build short.
COPY requirements-worker.lock ./
RUN python -m pip --python /opt/andon/bin/python install --require-hashes -r requirements-worker.lock
COPY pyproject.toml README.md LICENSE ./
COPY producers producers
COPY tools tools
COPY worker worker
COPY db db
# The lock holds the build backend too, so nothing is fetched here.
RUN python -m pip --python /opt/andon/bin/python install --no-deps --no-build-isolation .

FROM python:3.13-slim-trixie
RUN groupadd --gid 10001 andon \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin andon
COPY --from=build /opt/andon /opt/andon
# Nothing is written but to /tmp, so the root file system may be read-only.
ENV PATH=/opt/andon/bin:$PATH HOME=/tmp PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
WORKDIR /tmp
USER 10001:10001
# This very worker must answer, and a probe must come through stream, intake, dispatch and claim; any worker may
# claim it. One whose threads are all at work is well. Docker sets HOSTNAME, which names the worker.
HEALTHCHECK --interval=30s --timeout=40s --start-period=60s --retries=3 \
    CMD alarm-worker probe --worker "celery@$HOSTNAME" --allow-busy --timeout 20
CMD ["alarm-worker", "run"]
