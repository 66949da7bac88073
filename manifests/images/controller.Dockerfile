# The controller's processes: fc-watcher, fc-reconciler, fc-barrier and fc-jobs. From the root of the tree:
#   docker build -f manifests/images/controller.Dockerfile -t frameworkcontroller .
# The Makefile defines its files and packages (image-controller); tests/images.sh runs the same without a container
# engine.
FROM debian:12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends make
WORKDIR /src
COPY . .
RUN make deps PACKAGES_TEST= && make -s -j"$(nproc)" image-controller DESTDIR=/image

FROM debian:12-slim
COPY --from=build /image /
RUN apt-get update && \
    xargs apt-get install -y --no-install-recommends </usr/share/frameworkcontroller/packages && \
    rm -rf /var/lib/apt/lists/*
USER 65532:0
WORKDIR /opt/frameworkcontroller/frameworkcontroller
ENTRYPOINT ["./start.sh"]
