/* The description of each kind of object that a Framework or its attempt owns beside the ConfigMap and the Pods, for
 * owned.c. A further kind is a member of enum slot_kind (plan.h), its description here, and its place in the table of
 * owned.c. */
#ifndef SYNC_OWNED_KIND_H
#define SYNC_OWNED_KIND_H

#include "reconciler/sync/rules.h"
#include "reconciler/sync/served.h"

/* Whether the object is as the spec wants it. */
enum owned_fit {
	FIT,       /* it is */
	FIT_LATER, /* a PATCH is to make it so; Pods need not wait for that */
	FIT_FIRST, /* likewise, and no Pod is created before */
};

enum { OWNED_NAME_SIZE = 128, OWNED_RESOURCES_MAX = 2 };

struct owned_kind {
	const char *kind;
	const char *failed_create; /* the reason of an Event */
	const char *failed_get;    /* likewise, as the next ones; NULL: as failed_create */
	const char *failed_patch;  /* NULL: it is never patched */
	const char *failed_delete; /* NULL: it is left to the garbage collector */
	const char *hint;          /* how somebody can grant a right that is missing */
	bool of_attempt;           /* the attempt's ConfigMap is its owner, and not the Framework */
	bool apart;                /* it is made and kept by kueue.c, whether there is an attempt or not */
	/* Its name; false: none is wanted. */
	bool (*name)(const struct framework *framework, char name[OWNED_NAME_SIZE]);
	/* The resources that it may be, the best first; returns how many. */
	size_t (*resources)(const struct framework *framework,
			    const struct owned_resource *resources[OWNED_RESOURCES_MAX]);
	/* Further labels, and further members of metadata, each after a comma; NULL: none. */
	void (*write_labels)(const struct framework *framework, struct buf *out);
	void (*write_metadata)(const struct framework *framework, struct buf *out);
	void (*write_spec)(const struct framework *framework, struct buf *out);
	/* The rest is NULL where it never changes. While an attempt is under way, it is kept as it should be, and made
	 * again when it is missing. */
	enum owned_fit (*fit)(const struct framework *framework, const struct owned_object *object, bool fitted);
	/* What write_patch() states now: no Pod is created while a PATCH of a lower number is on its way. */
	int64_t (*number)(const struct framework *framework);
	/* The member spec of a merge patch that makes it so. */
	void (*write_patch)(const struct framework *framework, struct buf *out);
	/* For a kind that is apart: whether a planned call is still wanted; write_patch() writes the whole body then.
	 */
	bool (*wanted)(const struct framework *framework, const struct call *call);
	/* Posts an Event: the API server serves none of its resources or, with trouble, why that is unknown. */
	void (*report_unavailable)(struct reconcile *reconcile, const char *trouble);
};

extern const struct owned_kind service_kind;
extern const struct owned_kind pod_group_kind;
extern const struct owned_kind workload_kind;

#endif
