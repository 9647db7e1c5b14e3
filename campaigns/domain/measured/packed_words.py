"""The dictionary of packed seconds: the words of a usual one, the most usual last.

Never change a byte of it: stored seconds are unreadable without. Other words make a new format.
"""

WORDS = (
    b'"aborted_by_stop":1,"address_refused":1,"body_cap":1,"body_mismatch":1,"body_timeout":1'
    b',"client_fd_exhausted":1,"client_file_table":1,"client_other":1,"client_ports":1'
    b',"connect_refused":1,"connect_timeout":1,"connect_unreachable":1,"dns_failed":1'
    b',"eof_before_reply":1,"eof_mid_body":1,"first_byte_timeout":1,"h2_goaway":1'
    b',"h2_not_spoken":1,"h2_protocol":1,"h2_stream_reset":1,"header_cap":1,"http_parse":1'
    b',"reset":1,"status_unexpected":1,"tls_handshake":1,"tls_timeout":1,"tls_verify":1'
    b',"write_error":1,"write_timeout":1,"ws_close_timeout":1,"ws_protocol":1'
    b',"ws_upgrade_rejected":1"failed":,"dropped":,"queued":,"carried":,"framing_received":'
    b',"segments_resent":,"tls_full":,"tls_resumed":,"tls_ragged_eof":,"replayed":'
    b',"socket_timeouts":,"messages_sent":,"messages_received":,"window_throttled":'
    b',"extract_missed":,"window_resumed":,"in_doubt":,"calls_skipped":,"calls_retried":'
    b',"sessions_started":,"sessions_ok":,"sessions_failed":,"sessions_dropped":'
    b',"sessions_carried":],"slot_wait":[],"dns":[],"connect":[],"tls":[],"handshake":[]'
    b',"exchange":[],"close":[],"connect_tls":[],"message":[],"failed":[],"failed_reply":[]'
    b',"session":[],"session_failed":[{"ok":1000,"started":1000,"wire_sent":0'
    b',"bytes_sent":116000,"body_squares":1681000,"body_received":41000,"head_received":89000'
    b',"segments_sent":0,"wire_received":0,"bytes_received":4000000'
    b',"connections_opened":0},{},{"200":1000},0,{"gc_share":0.0,"cpu_share":0.2'
    b',"rss_bytes":53000000,"open_files":31,"other_cores":0.02,"ports_share":0.0'
    b',"steal_share":0.0,"clock_step_us":0,"swapped_pages":0,"hub_lag_max_us":900'
    b',"gc_pause_max_us":0,"lateness_p99_us":90,"other_cpu_share":0.01,"run_delay_share":0.001'
    b',"throttled_share":0.0,"open_connections":10,"open_files_share":0.0015'
    b',"own_delay_p99_us":90,"packets_lost_share":0.0'
    b'},{"hub_lag":[10],"sampled":[1000,20000,60,90,6],"undelayed":[1000,20000,60,90,7]'
    b',"processing":[1000,20000,60,90,5],"response":[1000,20000,60,90,0],"lateness":[8]'
    b',"own_delay":[9],"service":[1000,20000,60,90,1],"receive":[4],"wait":[1000,20000,60,90,3]'
    b',"send":[2],"wait":[3],"response":[0],"service":[1]}]'
)
