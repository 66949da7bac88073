/* Filling compiled pod templates (CONTRACT.md §4.2); see podtemplate.h and podtext.h. */
#include "reconciler/sync/podtext.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "reconciler/sync/podtemplate.h"

bool pod_template_too_large(struct framework *framework, size_t role)
{
	if (framework->templates == NULL)
		pod_templates_compile(framework);
	return framework->templates[role]->text.len > POD_BODY_MAX;
}

/* A text of the status, which somebody else may have written. */
static void put_text(struct buf *out, const char *text)
{
	buf_json_part(out, text, strlen(text));
}

void pod_template_render(struct framework *framework, size_t role, size_t index, struct buf *out)
{
	const struct framework_attempt_status *attempt = &framework->status.attempt;
	const struct role_status *role_status = &attempt->roles[role];
	const struct task_status *task = &role_status->tasks[index];
	int in_spec = framework_spec_find_role(&framework->spec, role_status->name);
	const struct pod_template *template;
	size_t done = 0;

	if (framework->templates == NULL)
		pod_templates_compile(framework);
	template = framework->templates[in_spec];
	buf_reserve(out, template->text.len + template->hole_count * UUID_SIZE);
	for (size_t i = 0; i < template->hole_count; i++) {
		buf_append(out, template->text.data + done, template->holes[i].at - done);
		done = template->holes[i].at;
		switch (template->holes[i].value) {
		case HOLE_TASK_INDEX: buf_put_int(out, (int64_t)index); break;
		case HOLE_POD_NAME: buf_printf(out, "%s-%s-%zu", framework->name, role_status->name, index); break;
		case HOLE_FRAMEWORK_ATTEMPT_ID: buf_put_int(out, attempt->id); break;
		case HOLE_FRAMEWORK_ATTEMPT_INSTANCE_UID: put_text(out, attempt->instance_uid); break;
		case HOLE_CONFIGMAP_UID: put_text(out, attempt->config_map_uid); break;
		case HOLE_TASKROLE_UID: put_text(out, role_status->instance_uid); break;
		case HOLE_TASK_UID: put_text(out, task->instance_uid); break;
		case HOLE_TASK_ATTEMPT_ID: buf_put_int(out, task->attempt.id); break;
		case HOLE_RANK: buf_put_int(out, template->first_rank + (int64_t)index); break;
		case HOLE_COUNT: break;
		}
	}
	buf_append(out, template->text.data + done, template->text.len - done);
}

void pod_templates_free(struct framework *framework)
{
	for (size_t r = 0; framework->templates != NULL && r < framework->spec.role_count; r++) {
		buf_free(&framework->templates[r]->text);
		free(framework->templates[r]->holes);
		free(framework->templates[r]);
	}
	free(framework->templates);
	framework->templates = NULL;
}
