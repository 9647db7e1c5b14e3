"""What the tools print, as their releases and languages differ."""

# perf 3.8 in German: a decimal comma, dots between thousands.
PERF_GERMAN = """oberstet@corei7-ubuntu:~/wsperf$ sudo perf stat ./wsperf ws://127.0.0.1:9000

 Performance counter stats for './wsperf ws://127.0.0.1:9000':

      56397,171142 task-clock                #    3,576 CPUs utilized          
           177.411 context-switches          #    0,003 M/sec                  
            23.577 cpu-migrations            #    0,418 K/sec                  
           595.352 page-faults               #    0,011 M/sec                  
   186.462.389.466 cycles                    #    3,306 GHz                     [83,25%]
    84.877.715.262 instructions              #    0,46  insns per cycle        
                                             #    1,70  stalled cycles per insn [83,35%]
    16.967.531.711 branches                  #  300,858 M/sec                   [83,40%]
       673.808.823 branch-misses             #    3,97% of all branches         [83,11%]

      15,771390852 seconds time elapsed

oberstet@corei7-ubuntu:~/wsperf$ 
"""  # noqa: W291 as perf prints it
# perf 6.1 in a virtual machine without hardware counters.
PERF_VIRTUAL = """
 Performance counter stats for process id '4711':

            412.83 msec task-clock                #    0.041 CPUs utilized
             9,204      context-switches          #   22.295 K/sec
                12      cpu-migrations            #   29.068 /sec
                 0      page-faults               #    0.000 /sec
   <not supported>      cycles
   <not supported>      instructions
   <not supported>      branches
   <not counted>      branch-misses                                               (0.00%)

      10.002193442 seconds time elapsed

Some events weren't counted. Try disabling the NMI watchdog:
	echo 0 > /proc/sys/kernel/nmi_watchdog
	perf stat ...
	echo 1 > /proc/sys/kernel/nmi_watchdog
"""
PERF_REPEATED = """
 Performance counter stats for 'sleep 0.1' (5 runs):

              0.62 msec task-clock:u              #    0.006 CPUs utilized            ( +-  4.31% )
           310,123      cycles:u                  #    0.500 GHz                      ( +-  0.72% )
           204,871      instructions:u            #    0.66  insn per cycle           ( +-  0.02% )

          0.100923 +- 0.000091 seconds time elapsed  ( +-  0.09% )

"""
PERF_CSV = """# started on Sun Nov 22 19:00:00 2026

412.83,msec,task-clock,412830000,100.00,0.041,CPUs utilized
9204,,context-switches,412830000,100.00,22.295,K/sec
<not supported>,,cycles,0,100.00,,
1200,,instructions,412830000,75.50,,
,,,,,0.25,stalled cycles per insn
"""
PERF_INTERVALS = """#           time             counts unit events
     1.000207541             401.20 msec task-clock                #    0.401 CPUs utilized
     1.000207541              1,100      context-switches          #    2.742 K/sec
     2.000407114             405.80 msec task-clock                #    0.406 CPUs utilized
     2.000407114      <not counted>      context-switches
"""
VMSTAT = """$ vmstat -t -S M 1
procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu----- -----timestamp-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 UTC
 9  0      0   6000    120   1800    0    0   500   600  100  200 50 50  0  0  0 2026-11-22 19:00:00
 2  0      0   5900    120   1800    0    0     0    40 2000 4000 30 10 60  0  0 2026-11-22 19:00:01
procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu----- -----timestamp-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 UTC
 4  1      0   5800    120   1800    0    0     0    60 4000 8000 50 30 20  0  0 2026-11-22 19:00:02
^C"""
# procps 4 has a column for guests.
VMSTAT_ONCE = """procs -----------memory---------- ---swap-- -----io---- -system-- -------cpu-------
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st gu
 1  0      0 614400  12345 184320    0    0     1     2   10   20  1  1 98  0  0  0
"""
SAR = """Linux 6.1.0-18-amd64 (shop-1) \t11/22/2026 \t_x86_64_\t(2 CPU)

07:00:01 PM     CPU     %user     %nice   %system   %iowait    %steal     %idle
07:00:02 PM     all     30.00      0.00     10.00      0.00      0.00     60.00
07:00:02 PM       0     40.00      0.00     10.00      0.00      0.00     50.00
07:00:03 PM     all     50.00      0.00     30.00      0.00      0.00     20.00
07:00:03 PM       0     60.00      0.00     30.00      0.00      0.00     10.00

07:00:01 PM     IFACE   rxpck/s   txpck/s    rxkB/s    txkB/s  rxmcst/s   %ifutil
07:00:02 PM      eth0    900.00    800.00     70.00    280.00      0.00      0.23

07:00:01 PM kbmemfree   kbavail kbmemused  %memused
07:00:02 PM   6144000   7000000   2048000     25.00

07:00:01 PM     BUS  idvendor    idprod  maxpower                manufact  product
07:00:02 PM       1      1d6b         2         0   Linux 6.1 xhci-hcd   xHCI Host Controller

Average:        CPU     %user     %nice   %system   %iowait    %steal     %idle
Average:        all     40.00      0.00     20.00      0.00      0.00     40.00
Average:          0     50.00      0.00     20.00      0.00      0.00     30.00

07:05:00 PM  LINUX RESTART\t(2 CPU)

07:06:01 PM MBfsfree  MBfsused   %fsused FILESYSTEM
Summary:       20000     10000     33.33 /dev/vda1
"""
SAR_FRENCH = """19:00:01        CPU     %user     %nice   %system   %iowait    %steal     %idle
19:00:02        all     30,50      0,00     10,00      0,00      0,00     59,50
Moyenne :       all     30,50      0,00     10,00      0,00      0,00     59,50
"""
SADF = """{"sysstat": {"hosts": [{
  "nodename": "shop-1", "sysname": "Linux", "release": "6.1.0", "machine": "x86_64",
  "number-of-cpus": 2, "file-date": "2026-11-22",
  "statistics": [
    {"timestamp": {"date": "2026-11-22", "time": "19:00:02", "utc": 1, "interval": 1},
     "cpu-load": [{"cpu": "all", "user": 30.0, "idle": 60.0},
                  {"cpu": "0", "user": 40.0, "idle": 50.0}],
     "network": {"net-dev": [{"iface": "eth0", "rxkB": 70.0, "txkB": 280.0}]},
     "memory": {"memused": 2048000, "memused-percent": 25.0}},
    {"timestamp": {"date": "2026-11-22", "time": "19:00:03", "utc": 1, "interval": 1},
     "cpu-load": [{"cpu": "all", "user": 50.0, "idle": 20.0}], "comment": "started"}
  ]}]}}
"""
TIME = """hello from the server
\tCommand being timed: "sh -c 'echo hello
sleep 1'"
\tUser time (seconds): 12.41
\tSystem time (seconds): 3.09
\tPercent of CPU this job got: 77%
\tElapsed (wall clock) time (h:mm:ss or m:ss): 1:00:20.13
\tAverage shared text size (kbytes): 0
\tMaximum resident set size (kbytes): 20480
\tVoluntary context switches: 1204
\tInvoluntary context switches: 31
\tPage size (bytes): 4096
\tNew field of a later release: 7 of 9
\tExit status: 0
"""
