/* The client speaks HTTP/2 over TLS alone. In a test program that includes this, its handles speak it in the clear. */
#ifndef TESTS_HTTP2_CLEARTEXT_H
#define TESTS_HTTP2_CLEARTEXT_H

#include <dlfcn.h>
#include <stdarg.h>
#include <stdbool.h>

#undef curl_easy_setopt
#include <curl/curl.h>
#undef curl_easy_setopt

/* Of handles that are made from now on: they ask for HTTP/2 with the first request of a connection (RFC 7540 §3.2).
 * The other way, prior knowledge, fails in libcurl 7.88 when a connection is used again. */
static bool cleartext_http2;

/* Only the first version of a handle, which the client sets right after the protocol: if a call sets another one, that
 * one counts. */
CURLcode curl_easy_setopt(CURL *easy, CURLoption option, ...)
{
	static const CURL *made;
	CURLcode (*real)(CURL *, CURLoption, ...);
	va_list args;
	void *value;

	*(void **)&real = dlsym(RTLD_NEXT, "curl_easy_setopt");
	va_start(args, option);
	value = va_arg(args, void *);
	va_end(args);
	if (option == CURLOPT_PROTOCOLS_STR)
		made = easy;
	if (!cleartext_http2 || option != CURLOPT_HTTP_VERSION || made != easy)
		return real(easy, option, value);
	made = NULL;
	return real(easy, option, (long)CURL_HTTP_VERSION_2_0);
}

#endif
