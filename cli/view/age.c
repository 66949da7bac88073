/* See age.h. */
#include "cli/view/age.h"

#include <stdio.h>

char *age_text(int64_t seconds, char out[AGE_SIZE])
{
	enum { MINUTE = 60, HOUR = 3600, DAY = 86400 };
	long long s = seconds < 0 ? 0 : (long long)seconds;

	/* (the steps of kubectl's ages: k8s.io/apimachinery/pkg/util/duration, HumanDuration) */
	if (s < 2 * MINUTE)
		snprintf(out, AGE_SIZE, "%llds", s);
	else if (s < 10 * MINUTE && s % MINUTE != 0)
		snprintf(out, AGE_SIZE, "%lldm%llds", s / MINUTE, s % MINUTE);
	else if (s < 3 * HOUR)
		snprintf(out, AGE_SIZE, "%lldm", s / MINUTE);
	else if (s < 8 * HOUR && s % HOUR / MINUTE != 0)
		snprintf(out, AGE_SIZE, "%lldh%lldm", s / HOUR, s % HOUR / MINUTE);
	else if (s < 2 * DAY)
		snprintf(out, AGE_SIZE, "%lldh", s / HOUR);
	else if (s < 8 * DAY && s % DAY / HOUR != 0)
		snprintf(out, AGE_SIZE, "%lldd%lldh", s / DAY, s % DAY / HOUR);
	else
		snprintf(out, AGE_SIZE, "%lldd", s / DAY);
	return out;
}
