/* The annotation with which a Framework says which translation it was made from. It has a checksum, which tells whether
 * the job's spec or labels have changed, and the parts of the translation that the Framework's spec does not show. */
#ifndef JOBS_NOTE_H
#define JOBS_NOTE_H

#include "jobs/kinds/translate.h"

/* The annotation's value: JSON. Differs for different translations. spec: the text of the translation's spec. The
 * caller frees. */
char *job_note(const struct job *job, const struct job_translation *translation, const char *spec);

/* Sets to null in the patch of the Framework's labels those that the job gave when the stored note was written, and no
 * longer gives. stored NULL: none. */
void job_note_drop_labels(const char *stored, const struct job_translation *translation, json_t *patch);

/* The translation that the Framework was made from, as far as job_status() needs it; its spec is the Framework's own,
 * with the job's runPolicy.suspend if that is a boolean. For a job whose present spec is refused. 0, or -1 if the note
 * or the spec were not written by fc-jobs. Free with job_translation_free(). */
int job_translation_recover(const struct job *job, const char *stored, const json_t *spec, struct job_translation *out);

#endif
