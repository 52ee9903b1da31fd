// libcurl: the system's header, and one function for each value type of its variadic calls.
#ifndef CCURL_H
#define CCURL_H

#include <curl/curl.h>

typedef size_t (*ccurl_write_callback)(char *bytes, size_t size, size_t count, void *context);

CURLcode ccurl_set_long(CURL *handle, CURLoption option, long value);
CURLcode ccurl_set_offset(CURL *handle, CURLoption option, long long value);
CURLcode ccurl_set_pointer(CURL *handle, CURLoption option, const void *value);
CURLcode ccurl_set_string(CURL *handle, CURLoption option, const char *value);
CURLcode ccurl_set_writer(CURL *handle, ccurl_write_callback callback, void *context);
CURLcode ccurl_set_header_writer(CURL *handle, ccurl_write_callback callback, void *context);
CURLcode ccurl_get_long(CURL *handle, CURLINFO info, long *value);

#endif
