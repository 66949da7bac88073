/* Pods and ConfigMaps that are kept packed while nothing happens to them (common/base/pack.h). */
#ifndef FRAMEWORK_OBJECT_PACK_H
#define FRAMEWORK_OBJECT_PACK_H

#include "common/base/pack.h"
#include "common/framework/object.h"

/* Whether it can be packed: it has not ended, and nothing keeps it from running. */
bool pod_packs(const struct pod *pod);
/* Reading fills in the object, whose strings are its own. */
void pack_pod(struct pack *pack, struct pod *pod);
void pack_config_map(struct pack *pack, struct config_map *config_map);
void pack_meta(struct pack *pack, struct object_meta *meta);

#endif
