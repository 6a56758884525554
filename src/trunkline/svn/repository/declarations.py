"""C declarations of the libsvn 1.14 functions that we call.

Source: subversion 1.14, include/svn_{error,pools,types,io,fs,repos,delta}.h and apr-1. The
interfaces are stable within 1.x, by Subversion's own rules.
"""

DECLARATIONS = """
typedef struct apr_pool_t apr_pool_t;
typedef struct apr_hash_t apr_hash_t;
typedef struct apr_hash_index_t apr_hash_index_t;
typedef int64_t apr_time_t;
typedef int svn_boolean_t;
typedef long svn_revnum_t;
typedef int64_t svn_filesize_t;
typedef int svn_depth_t;
typedef int svn_node_kind_t;

typedef struct { apr_pool_t *pool; int elt_size; int nelts; int nalloc; char *elts; }
    apr_array_header_t;
typedef struct svn_error_t { int apr_err; const char *message; struct svn_error_t *child;
    apr_pool_t *pool; const char *file; long line; } svn_error_t;
typedef struct { const char *data; size_t len; } svn_string_t;
typedef struct svn_stream_t svn_stream_t;
typedef struct svn_fs_t svn_fs_t;
typedef struct svn_fs_root_t svn_fs_root_t;
typedef struct svn_fs_txn_t svn_fs_txn_t;
typedef struct svn_fs_access_t svn_fs_access_t;
typedef struct svn_fs_lock_target_t svn_fs_lock_target_t;
typedef struct svn_repos_t svn_repos_t;
typedef struct svn_txdelta_stream_t svn_txdelta_stream_t;
typedef struct { apr_pool_t *pool; char *data; size_t len; size_t blocksize; } svn_stringbuf_t;
typedef struct svn_txdelta_window_t svn_txdelta_window_t;

typedef struct { const char *name; const void *id; svn_node_kind_t kind; } svn_fs_dirent_t;
typedef struct { svn_node_kind_t kind; svn_filesize_t size; svn_boolean_t has_props;
    svn_revnum_t created_rev; apr_time_t time; const char *last_author; } svn_dirent_t;
typedef struct { const char *path; const char *token; const char *owner; const char *comment;
    svn_boolean_t is_dav_comment; apr_time_t creation_date; apr_time_t expiration_date; }
    svn_lock_t;
typedef struct { svn_revnum_t revision; apr_hash_t *revprops; svn_boolean_t has_children;
    svn_boolean_t non_inheritable; svn_boolean_t subtractive_merge; } svn_repos_log_entry_t;
typedef struct { svn_string_t path; int change_kind; svn_node_kind_t node_kind;
    svn_boolean_t text_mod; svn_boolean_t prop_mod; int mergeinfo_mod;
    svn_boolean_t copyfrom_known; svn_revnum_t copyfrom_rev; const char *copyfrom_path; }
    svn_repos_path_change_t;
typedef struct svn_fs_path_change_iterator_t svn_fs_path_change_iterator_t;
typedef struct { svn_revnum_t range_start; svn_revnum_t range_end; const char *path; }
    svn_location_segment_t;
typedef struct { const unsigned char *digest; int kind; } svn_checksum_t;
typedef struct { const char *name; const svn_string_t *value; } svn_prop_t;
typedef struct { const char *path_or_url; apr_hash_t *prop_hash; } svn_prop_inherited_item_t;
typedef struct { uint64_t cache_size; size_t file_handle_count; svn_boolean_t single_threaded; }
    svn_cache_config_t;

typedef svn_error_t *(*svn_txdelta_window_handler_t)(svn_txdelta_window_t *window, void *baton);
typedef svn_error_t *(*svn_repos_authz_func_t)(svn_boolean_t *allowed, svn_fs_root_t *root,
    const char *path, void *baton, apr_pool_t *pool);
typedef svn_error_t *(*svn_repos_path_change_receiver_t)(void *baton,
    svn_repos_path_change_t *change, apr_pool_t *pool);
typedef svn_error_t *(*svn_repos_log_entry_receiver_t)(void *baton,
    svn_repos_log_entry_t *entry, apr_pool_t *pool);
typedef svn_error_t *(*svn_location_segment_receiver_t)(svn_location_segment_t *segment,
    void *baton, apr_pool_t *pool);
typedef svn_error_t *(*svn_file_rev_handler_t)(void *baton, const char *path, svn_revnum_t rev,
    apr_hash_t *rev_props, svn_boolean_t result_of_merge,
    svn_txdelta_window_handler_t *delta_handler, void **delta_baton,
    apr_array_header_t *prop_diffs, apr_pool_t *pool);
typedef svn_error_t *(*svn_repos_mergeinfo_receiver_t)(const char *path, apr_hash_t *mergeinfo,
    void *baton, apr_pool_t *pool);
typedef svn_error_t *(*svn_repos_dirent_receiver_t)(const char *path, svn_dirent_t *dirent,
    void *baton, apr_pool_t *pool);
typedef svn_error_t *(*svn_fs_lock_callback_t)(void *baton, const char *path,
    const svn_lock_t *lock, svn_error_t *fs_err, apr_pool_t *pool);
typedef svn_error_t *(*svn_fs_get_locks_callback_t)(void *baton, svn_lock_t *lock,
    apr_pool_t *pool);

typedef struct svn_delta_editor_t {
    svn_error_t *(*set_target_revision)(void *, svn_revnum_t, apr_pool_t *);
    svn_error_t *(*open_root)(void *, svn_revnum_t, apr_pool_t *, void **);
    svn_error_t *(*delete_entry)(const char *, svn_revnum_t, void *, apr_pool_t *);
    svn_error_t *(*add_directory)(const char *, void *, const char *, svn_revnum_t,
        apr_pool_t *, void **);
    svn_error_t *(*open_directory)(const char *, void *, svn_revnum_t, apr_pool_t *, void **);
    svn_error_t *(*change_dir_prop)(void *, const char *, const svn_string_t *, apr_pool_t *);
    svn_error_t *(*close_directory)(void *, apr_pool_t *);
    svn_error_t *(*absent_directory)(const char *, void *, apr_pool_t *);
    svn_error_t *(*add_file)(const char *, void *, const char *, svn_revnum_t,
        apr_pool_t *, void **);
    svn_error_t *(*open_file)(const char *, void *, svn_revnum_t, apr_pool_t *, void **);
    svn_error_t *(*apply_textdelta)(void *, const char *, apr_pool_t *,
        svn_txdelta_window_handler_t *, void **);
    svn_error_t *(*change_file_prop)(void *, const char *, const svn_string_t *, apr_pool_t *);
    svn_error_t *(*close_file)(void *, const char *, apr_pool_t *);
    svn_error_t *(*absent_file)(const char *, void *, apr_pool_t *);
    svn_error_t *(*close_edit)(void *, apr_pool_t *);
    svn_error_t *(*abort_edit)(void *, apr_pool_t *);
    void *apply_textdelta_stream;
} svn_delta_editor_t;

int apr_initialize(void);
void *apr_palloc(apr_pool_t *pool, size_t size);
char *apr_pstrmemdup(apr_pool_t *pool, const char *data, size_t len);
void apr_pool_destroy(apr_pool_t *pool);
void apr_pool_clear(apr_pool_t *pool);
apr_hash_t *apr_hash_make(apr_pool_t *pool);
void apr_hash_set(apr_hash_t *hash, const void *key, ssize_t klen, const void *value);
apr_hash_index_t *apr_hash_first(apr_pool_t *pool, apr_hash_t *hash);
apr_hash_index_t *apr_hash_next(apr_hash_index_t *index);
const char *apr_hash_this_key(apr_hash_index_t *index);
void *apr_hash_this_val(apr_hash_index_t *index);
const svn_string_t *apr_hash_get(apr_hash_t *hash, const char *key, ssize_t klen);
unsigned int apr_hash_count(apr_hash_t *hash);
apr_array_header_t *apr_array_make(apr_pool_t *pool, int count, int size);
void *apr_array_push(apr_array_header_t *array);

apr_pool_t *svn_pool_create_ex(apr_pool_t *parent, void *allocator);
svn_error_t *svn_error_create(int code, svn_error_t *child, const char *message);
void svn_error_clear(svn_error_t *error);
const char *svn_err_best_message(const svn_error_t *error, char *buffer, size_t size);
svn_error_t *svn_error_purge_tracing(svn_error_t *error);
const char *svn_error_symbolic_name(int code);
svn_string_t *svn_string_ncreate(const char *data, size_t size, apr_pool_t *pool);
svn_stringbuf_t *svn_stringbuf_create_empty(apr_pool_t *pool);
svn_stream_t *svn_stream_from_stringbuf(svn_stringbuf_t *, apr_pool_t *pool);
svn_error_t *svn_stream_read_full(svn_stream_t *stream, char *buffer, size_t *len);
svn_error_t *svn_stream_write(svn_stream_t *stream, const char *data, size_t *len);
svn_error_t *svn_stream_close(svn_stream_t *stream);
svn_stream_t *svn_stream_empty(apr_pool_t *pool);
svn_error_t *svn_stream_open_readonly(svn_stream_t **, const char *path, apr_pool_t *,
    apr_pool_t *);
svn_error_t *svn_stream_open_writable(svn_stream_t **, const char *path, apr_pool_t *,
    apr_pool_t *);
void svn_cache_config_set(const svn_cache_config_t *settings);
svn_error_t *svn_dso_initialize2(void);
void svn_utf_initialize2(svn_boolean_t assume_native_utf8, apr_pool_t *pool);
svn_error_t *svn_mergeinfo_to_string(svn_string_t **out, apr_hash_t *mergeinfo, apr_pool_t *);

typedef struct svn_authz_t svn_authz_t;
svn_error_t *svn_repos_authz_read3(svn_authz_t **, const char *path, const char *groups_path,
    svn_boolean_t must_exist, svn_repos_t *repos_hint, apr_pool_t *, apr_pool_t *);
svn_error_t *svn_repos_authz_check_access(svn_authz_t *, const char *repos_name,
    const char *path, const char *user, int access, svn_boolean_t *granted, apr_pool_t *);

svn_error_t *svn_fs_initialize(apr_pool_t *pool);
svn_error_t *svn_fs_youngest_rev(svn_revnum_t *rev, svn_fs_t *fs, apr_pool_t *);
svn_error_t *svn_fs_get_uuid(svn_fs_t *fs, const char **uuid, apr_pool_t *);
svn_error_t *svn_fs_revision_root(svn_fs_root_t **root, svn_fs_t *fs, svn_revnum_t, apr_pool_t *);
svn_error_t *svn_fs_txn_root(svn_fs_root_t **root, svn_fs_txn_t *txn, apr_pool_t *);
svn_error_t *svn_fs_check_path(svn_node_kind_t *, svn_fs_root_t *, const char *, apr_pool_t *);
svn_error_t *svn_fs_node_created_rev(svn_revnum_t *, svn_fs_root_t *, const char *, apr_pool_t *);
svn_error_t *svn_fs_node_created_path(const char **, svn_fs_root_t *, const char *,
    apr_pool_t *);
svn_error_t *svn_fs_node_proplist(apr_hash_t **, svn_fs_root_t *, const char *, apr_pool_t *);
svn_error_t *svn_fs_node_prop(svn_string_t **, svn_fs_root_t *, const char *path,
    const char *name, apr_pool_t *);
svn_error_t *svn_fs_node_has_props(svn_boolean_t *, svn_fs_root_t *, const char *, apr_pool_t *);
svn_error_t *svn_fs_node_relation(int *relation, svn_fs_root_t *root_a, const char *path_a,
    svn_fs_root_t *root_b, const char *path_b, apr_pool_t *);
svn_error_t *svn_fs_dir_entries(apr_hash_t **, svn_fs_root_t *, const char *, apr_pool_t *);
svn_error_t *svn_time_from_cstring(apr_time_t *, const char *, apr_pool_t *);
svn_revnum_t svn_fs_revision_root_revision(svn_fs_root_t *);
svn_error_t *svn_fs_dir_optimal_order(apr_array_header_t **, svn_fs_root_t *, apr_hash_t *,
    apr_pool_t *, apr_pool_t *);
svn_error_t *svn_fs_file_length(svn_filesize_t *, svn_fs_root_t *, const char *, apr_pool_t *);
svn_error_t *svn_fs_file_contents(svn_stream_t **, svn_fs_root_t *, const char *, apr_pool_t *);
svn_error_t *svn_fs_file_checksum(svn_checksum_t **, int kind, svn_fs_root_t *, const char *,
    svn_boolean_t force, apr_pool_t *);
svn_error_t *svn_fs_get_file_delta_stream(svn_txdelta_stream_t **, svn_fs_root_t *source_root,
    const char *source, svn_fs_root_t *target_root, const char *target, apr_pool_t *);
svn_error_t *svn_fs_refresh_revision_props(svn_fs_t *, apr_pool_t *);
svn_error_t *svn_fs_begin_txn2(svn_fs_txn_t **, svn_fs_t *, svn_revnum_t, uint32_t flags,
    apr_pool_t *);
svn_error_t *svn_fs_open_txn(svn_fs_txn_t **, svn_fs_t *, const char *name, apr_pool_t *);
svn_error_t *svn_fs_txn_name(const char **, svn_fs_txn_t *, apr_pool_t *);
svn_error_t *svn_fs_txn_proplist(apr_hash_t **, svn_fs_txn_t *, apr_pool_t *);
svn_error_t *svn_fs_revision_proplist2(apr_hash_t **, svn_fs_t *, svn_revnum_t,
    svn_boolean_t refresh, apr_pool_t *, apr_pool_t *);
svn_error_t *svn_fs_purge_txn(svn_fs_t *, const char *name, apr_pool_t *);
svn_error_t *svn_fs_paths_changed3(svn_fs_path_change_iterator_t **, svn_fs_root_t *,
    apr_pool_t *, apr_pool_t *);
svn_error_t *svn_fs_path_change_get(svn_repos_path_change_t **,
    svn_fs_path_change_iterator_t *);
svn_error_t *svn_fs_abort_txn(svn_fs_txn_t *txn, apr_pool_t *);
svn_error_t *svn_fs_make_dir(svn_fs_root_t *, const char *, apr_pool_t *);
svn_error_t *svn_fs_make_file(svn_fs_root_t *, const char *, apr_pool_t *);
svn_error_t *svn_fs_delete(svn_fs_root_t *, const char *, apr_pool_t *);
svn_error_t *svn_fs_copy(svn_fs_root_t *from_root, const char *from, svn_fs_root_t *to_root,
    const char *to, apr_pool_t *);
svn_error_t *svn_fs_apply_textdelta(svn_txdelta_window_handler_t *, void **, svn_fs_root_t *,
    const char *path, const char *base_checksum, const char *result_checksum, apr_pool_t *);
svn_error_t *svn_fs_apply_text(svn_stream_t **, svn_fs_root_t *, const char *path,
    const char *result_checksum, apr_pool_t *);
svn_error_t *svn_fs_create_access(svn_fs_access_t **, const char *user, apr_pool_t *);
svn_error_t *svn_fs_set_access(svn_fs_t *, svn_fs_access_t *);
svn_error_t *svn_fs_access_add_lock_token2(svn_fs_access_t *, const char *path,
    const char *token);
svn_error_t *svn_fs_get_lock(svn_lock_t **, svn_fs_t *, const char *path, apr_pool_t *);
svn_fs_lock_target_t *svn_fs_lock_target_create(const char *token, svn_revnum_t, apr_pool_t *);
svn_error_t *svn_fs_generate_lock_token(const char **token, svn_fs_t *, apr_pool_t *);

svn_error_t *svn_repos_open3(svn_repos_t **, const char *path, apr_hash_t *fs_config,
    apr_pool_t *, apr_pool_t *);
svn_fs_t *svn_repos_fs(svn_repos_t *);
typedef void (*svn_fs_warning_callback_t)(void *baton, svn_error_t *error);
void svn_fs_set_warning_func(svn_fs_t *, svn_fs_warning_callback_t, void *baton);
typedef svn_error_t *(*svn_error_malfunction_handler_t)(svn_boolean_t can_return,
    const char *file, int line, const char *expression);
svn_error_malfunction_handler_t svn_error_set_malfunction_handler(
    svn_error_malfunction_handler_t);
svn_error_t *svn_error_raise_on_malfunction(svn_boolean_t can_return, const char *file,
    int line, const char *expression);
svn_error_t *svn_repos_hooks_setenv(svn_repos_t *, const char *hooks_env, apr_pool_t *);
svn_error_t *svn_repos_remember_client_capabilities(svn_repos_t *, const apr_array_header_t *);
svn_error_t *svn_repos_has_capability(svn_repos_t *, svn_boolean_t *, const char *,
    apr_pool_t *);
svn_error_t *svn_repos_stat(svn_dirent_t **, svn_fs_root_t *, const char *, apr_pool_t *);
svn_error_t *svn_repos_begin_report3(void **baton, svn_revnum_t, svn_repos_t *,
    const char *fs_base, const char *target, const char *tgt_path, svn_boolean_t text_deltas,
    svn_depth_t, svn_boolean_t ignore_ancestry, svn_boolean_t send_copyfrom_args,
    const svn_delta_editor_t *, void *edit_baton, svn_repos_authz_func_t, void *authz_baton,
    size_t zero_copy_limit, apr_pool_t *);
svn_error_t *svn_repos_set_path3(void *baton, const char *path, svn_revnum_t, svn_depth_t,
    svn_boolean_t start_empty, const char *lock_token, apr_pool_t *);
svn_error_t *svn_repos_link_path3(void *baton, const char *path, const char *link_path,
    svn_revnum_t, svn_depth_t, svn_boolean_t start_empty, const char *lock_token, apr_pool_t *);
svn_error_t *svn_repos_delete_path(void *baton, const char *path, apr_pool_t *);
svn_error_t *svn_repos_finish_report(void *baton, apr_pool_t *);
svn_error_t *svn_repos_abort_report(void *baton, apr_pool_t *);
svn_error_t *svn_repos_get_logs5(svn_repos_t *, const apr_array_header_t *paths,
    svn_revnum_t start, svn_revnum_t end, int limit, svn_boolean_t strict_node_history,
    svn_boolean_t include_merged, const apr_array_header_t *revprops, svn_repos_authz_func_t,
    void *, svn_repos_path_change_receiver_t, void *, svn_repos_log_entry_receiver_t, void *,
    apr_pool_t *);
svn_error_t *svn_repos_dated_revision(svn_revnum_t *, svn_repos_t *, apr_time_t, apr_pool_t *);
svn_error_t *svn_repos_trace_node_locations(svn_fs_t *, apr_hash_t **, const char *path,
    svn_revnum_t peg, const apr_array_header_t *revisions, svn_repos_authz_func_t, void *,
    apr_pool_t *);
svn_error_t *svn_repos_node_location_segments(svn_repos_t *, const char *path,
    svn_revnum_t peg, svn_revnum_t start, svn_revnum_t end, svn_location_segment_receiver_t,
    void *, svn_repos_authz_func_t, void *, apr_pool_t *);
svn_error_t *svn_repos_deleted_rev(svn_fs_t *, const char *path, svn_revnum_t start,
    svn_revnum_t end, svn_revnum_t *deleted, apr_pool_t *);
svn_error_t *svn_repos_get_file_revs2(svn_repos_t *, const char *path, svn_revnum_t start,
    svn_revnum_t end, svn_boolean_t include_merged, svn_repos_authz_func_t, void *,
    svn_file_rev_handler_t, void *, apr_pool_t *);
svn_error_t *svn_repos_fs_get_locks2(apr_hash_t **, svn_repos_t *, const char *path,
    svn_depth_t, svn_repos_authz_func_t, void *, apr_pool_t *);
svn_error_t *svn_repos_fs_get_mergeinfo2(svn_repos_t *, const apr_array_header_t *paths,
    svn_revnum_t, int inherit, svn_boolean_t include_descendants, svn_repos_authz_func_t,
    void *, svn_repos_mergeinfo_receiver_t, void *, apr_pool_t *);
svn_error_t *svn_repos_fs_get_inherited_props(apr_array_header_t **, svn_fs_root_t *,
    const char *path, const char *name, svn_repos_authz_func_t, void *, apr_pool_t *,
    apr_pool_t *);
svn_error_t *svn_repos_list(svn_fs_root_t *, const char *path,
    const apr_array_header_t *patterns, svn_depth_t, svn_boolean_t path_info_only,
    svn_repos_authz_func_t, void *, svn_repos_dirent_receiver_t, void *, void *cancel,
    void *cancel_baton, apr_pool_t *);
svn_error_t *svn_repos_replay2(svn_fs_root_t *, const char *base_dir, svn_revnum_t low_water,
    svn_boolean_t send_deltas, const svn_delta_editor_t *, void *, svn_repos_authz_func_t,
    void *, apr_pool_t *);
svn_error_t *svn_repos_fs_begin_txn_for_commit2(svn_fs_txn_t **, svn_repos_t *, svn_revnum_t,
    apr_hash_t *revprops, apr_pool_t *);
svn_error_t *svn_repos_fs_commit_txn(const char **conflict, svn_repos_t *, svn_revnum_t *,
    svn_fs_txn_t *, apr_pool_t *);
svn_error_t *svn_repos_fs_change_rev_prop4(svn_repos_t *, svn_revnum_t, const char *author,
    const char *name, const svn_string_t *const *old_value, const svn_string_t *value,
    svn_boolean_t use_pre_hook, svn_boolean_t use_post_hook, svn_repos_authz_func_t, void *,
    apr_pool_t *);
svn_error_t *svn_repos_fs_revision_proplist(apr_hash_t **, svn_repos_t *, svn_revnum_t,
    svn_repos_authz_func_t, void *, apr_pool_t *);
svn_error_t *svn_repos_fs_change_txn_prop(svn_fs_txn_t *, const char *name,
    const svn_string_t *value, apr_pool_t *);
svn_error_t *svn_repos_fs_change_node_prop(svn_fs_root_t *, const char *path,
    const char *name, const svn_string_t *value, apr_pool_t *);
svn_error_t *svn_repos_fs_lock_many(svn_repos_t *, apr_hash_t *targets, const char *comment,
    svn_boolean_t is_dav_comment, apr_time_t expiration, svn_boolean_t steal,
    svn_fs_lock_callback_t, void *, apr_pool_t *, apr_pool_t *);
svn_error_t *svn_repos_fs_unlock_many(svn_repos_t *, apr_hash_t *targets,
    svn_boolean_t break_lock, svn_fs_lock_callback_t, void *, apr_pool_t *, apr_pool_t *);

svn_delta_editor_t *svn_delta_default_editor(apr_pool_t *);
void svn_txdelta_to_svndiff3(svn_txdelta_window_handler_t *, void **, svn_stream_t *output,
    int version, int level, apr_pool_t *);
svn_stream_t *svn_txdelta_parse_svndiff(svn_txdelta_window_handler_t, void *,
    svn_boolean_t error_on_early_close, apr_pool_t *);
svn_error_t *svn_txdelta_send_txstream(svn_txdelta_stream_t *, svn_txdelta_window_handler_t,
    void *, apr_pool_t *);
void svn_txdelta_apply(svn_stream_t *source, svn_stream_t *target, unsigned char *digest,
    const char *error_info, apr_pool_t *, svn_txdelta_window_handler_t *, void **);
svn_error_t *svn_delta_noop_window_handler(svn_txdelta_window_t *window, void *baton);
"""
