#include "CCurl.h"

CURLcode ccurl_set_long(CURL *handle, CURLoption option, long value) {
  return curl_easy_setopt(handle, option, value);
}
CURLcode ccurl_set_offset(CURL *handle, CURLoption option, long long value) {
  return curl_easy_setopt(handle, option, (curl_off_t)value);
}
CURLcode ccurl_set_pointer(CURL *handle, CURLoption option, const void *value) {
  return curl_easy_setopt(handle, option, value);
}
CURLcode ccurl_set_string(CURL *handle, CURLoption option, const char *value) {
  return curl_easy_setopt(handle, option, value);
}
CURLcode ccurl_set_writer(CURL *handle, ccurl_write_callback callback, void *context) {
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, context);
  return curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, callback);
}
CURLcode ccurl_set_header_writer(CURL *handle, ccurl_write_callback callback, void *context) {
  curl_easy_setopt(handle, CURLOPT_HEADERDATA, context);
  return curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, callback);
}
CURLcode ccurl_get_long(CURL *handle, CURLINFO info, long *value) {
  return curl_easy_getinfo(handle, info, value);
}
